import { createHash } from 'node:crypto';
import type { Database, RootDatabase } from 'lmdb';

/** Types of records, as stored on disk. */
const STRING = 1;
const HASH = 2;
const NO_EXPIRY = 0n;
/** Type (1 byte), expiry in milliseconds since the epoch (8 bytes, 0: none). */
const HEAD_BYTES = 9;
/** LMDB limits keys to 1978 bytes; longer keys than this are stored by their digest. */
const MAX_PLAIN_KEY = 1024;
const PLAIN = Buffer.from([0]);
const DIGEST = Buffer.from([1]);
/** Sorts after every field of a hash. */
const AFTER = Buffer.from([2]);
const PRESENT = Buffer.from([1]);
const EXPIRY_BYTES = 8;

/** The value of a key: a string, or a hash with its number of fields. */
export type KvRecord = StringRecord | HashRecord;

/** Expiries are milliseconds since the epoch; 0: none. */
export interface StringRecord {
  readonly kind: 'string';
  readonly expiryMs: bigint;
  readonly value: Buffer;
}

export interface HashRecord {
  readonly kind: 'hash';
  readonly expiryMs: bigint;
  readonly fields: number;
}

/** A hash with the record that `get` has returned for it. */
interface HashRef<R> {
  readonly key: Buffer;
  readonly record: R;
}

type Table = Database<Buffer, Buffer>;

/**
 * Records, hash fields and expiries of one LMDB environment.
 *
 *     keys      key            → kind, expiry, and the value or the number of fields
 *     fields    id(key) field  → value; the id is a SHA-256 of the key, so the fields of a hash stand together
 *     expiries  expiry key     → nothing; in the order of time, for the sweeper
 *
 * Writes must run inside `transaction`. An expired record reads as absent until the sweeper removes it.
 */
export class Records {
  readonly #root: RootDatabase;
  readonly #keys: Table;
  readonly #fields: Table;
  readonly #expiries: Table;

  constructor(root: RootDatabase) {
    const binary = { keyEncoding: 'binary', encoding: 'binary' } as const;
    this.#root = root;
    this.#keys = root.openDB('keys', binary);
    this.#fields = root.openDB('fields', binary);
    this.#expiries = root.openDB('expiries', binary);
  }

  /** Runs writes in a transaction; resolves when they are on disk. Actions of one turn share a transaction, in order. */
  transaction<T>(action: () => T): Promise<T> {
    return this.#root.transaction(action);
  }

  /** Makes the commits of other workers visible to reads outside of a transaction. */
  refresh(): void {
    this.#root.resetReadTxn();
  }

  close(): Promise<void> {
    return this.#root.close();
  }

  get(key: Buffer, nowMs: number): KvRecord | undefined {
    const record = this.#read(storedKey(key));
    return record && isExpired(record, nowMs) ? undefined : record;
  }

  /** Writes a string; replaces any value of the key. */
  putString(key: Buffer, value: Buffer, expiryMs = NO_EXPIRY): void {
    const stored = storedKey(key);
    this.#clear(stored);
    this.#write(stored, { kind: 'string', expiryMs, value });
  }

  /** Removes the key, expired or not, with its fields. */
  delete(key: Buffer): void {
    this.#delete(storedKey(key));
  }

  setExpiry(key: Buffer, record: KvRecord, expiryMs: bigint): void {
    const stored = storedKey(key);
    this.#forgetExpiry(stored, record);
    this.#write(stored, { ...record, expiryMs });
  }

  getField(key: Buffer, field: Buffer): Buffer | undefined {
    return this.#fields.get(fieldKey(key, field));
  }

  /** Writes a field; true if it is new. */
  putField({ key, record }: HashRef<HashRecord | undefined>, field: Buffer, value: Buffer): boolean {
    // An expired hash may not have been removed yet; its fields must not become visible again.
    if (!record) this.delete(key);
    const stored = fieldKey(key, field);
    const isNew = this.#fields.get(stored) === undefined;
    void this.#fields.put(stored, value);
    const before = record ?? { kind: 'hash', expiryMs: NO_EXPIRY, fields: 0 };
    if (isNew) this.#write(storedKey(key), { ...before, fields: before.fields + 1 });
    return isNew;
  }

  /** Removes a field; true if it existed. A hash without fields is removed. */
  deleteField({ key, record }: HashRef<HashRecord>, field: Buffer): boolean {
    const stored = fieldKey(key, field);
    if (this.#fields.get(stored) === undefined) return false;
    if (record.fields === 1) this.delete(key);
    else {
      void this.#fields.remove(stored);
      this.#write(storedKey(key), { ...record, fields: record.fields - 1 });
    }
    return true;
  }

  /** Removes up to `limit` expired keys and gives their number. */
  sweep(nowMs: number, limit: number): number {
    const due = [
      ...this.#expiries.getKeys({ start: expiryBytes(1n), end: expiryBytes(BigInt(nowMs) + 1n), limit }),
    ];
    for (const entry of due) this.#delete(entry.subarray(EXPIRY_BYTES));
    return due.length;
  }

  #read(stored: Buffer): KvRecord | undefined {
    const bytes = this.#keys.get(stored);
    if (!bytes) return undefined;
    const expiryMs = bytes.readBigInt64BE(1);
    return bytes[0] === STRING
      ? { kind: 'string', expiryMs, value: bytes.subarray(HEAD_BYTES) }
      : { kind: 'hash', expiryMs, fields: bytes.readUInt32BE(HEAD_BYTES) };
  }

  #write(stored: Buffer, record: KvRecord): void {
    const payloadBytes = record.kind === 'string' ? record.value.length : 4;
    const bytes = Buffer.allocUnsafe(HEAD_BYTES + payloadBytes);
    bytes[0] = record.kind === 'string' ? STRING : HASH;
    bytes.writeBigInt64BE(record.expiryMs, 1);
    if (record.kind === 'string') record.value.copy(bytes, HEAD_BYTES);
    else bytes.writeUInt32BE(record.fields, HEAD_BYTES);
    void this.#keys.put(stored, bytes);
    if (record.expiryMs !== NO_EXPIRY) void this.#expiries.put(expiryKey(stored, record), PRESENT);
  }

  #delete(stored: Buffer): void {
    if (this.#clear(stored)) void this.#keys.remove(stored);
  }

  /** Removes the fields and the expiry of a record; true if there is one. */
  #clear(stored: Buffer): boolean {
    const record = this.#read(stored);
    if (!record) return false;
    this.#forgetExpiry(stored, record);
    if (record.kind === 'hash') {
      const id = sha256(stored);
      // Collected first: a cursor becomes invalid when its entry is removed.
      const fields = [...this.#fields.getKeys({ start: id, end: Buffer.concat([id, AFTER]) })];
      for (const field of fields) void this.#fields.remove(field);
    }
    return true;
  }

  #forgetExpiry(stored: Buffer, record: KvRecord): void {
    if (record.expiryMs !== NO_EXPIRY) void this.#expiries.remove(expiryKey(stored, record));
  }
}

function isExpired({ expiryMs }: KvRecord, nowMs: number): boolean {
  return expiryMs !== NO_EXPIRY && expiryMs <= nowMs;
}

/** Converts a key of any length to one that LMDB accepts. */
function storedKey(key: Buffer): Buffer {
  return key.length <= MAX_PLAIN_KEY ? Buffer.concat([PLAIN, key]) : Buffer.concat([DIGEST, sha256(key)]);
}

function fieldKey(key: Buffer, field: Buffer): Buffer {
  return Buffer.concat([sha256(storedKey(key)), storedKey(field)]);
}

function expiryKey(stored: Buffer, { expiryMs }: KvRecord): Buffer {
  return Buffer.concat([expiryBytes(expiryMs), stored]);
}

function expiryBytes(expiryMs: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(EXPIRY_BYTES);
  bytes.writeBigInt64BE(expiryMs);
  return bytes;
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
