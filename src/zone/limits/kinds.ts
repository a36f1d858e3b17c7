import type { ConnectionLimitDeclaration, RequestLimitDeclaration, ZoneKind } from '../declaration.ts';
import { fnv1a, Payload } from '../dictionary/entry.ts';
import { rebuild, repairDictionary } from '../dictionary/kind.ts';
import { BLOCK_BYTES } from '../dictionary/layout.ts';
import { Table } from '../dictionary/table.ts';
import { IDENTITY_WORD, MAX_ZONE_BYTES, type Memory, memoryOf, VERSION_WORD } from '../header.ts';

/*
 * Limits keep their counts in the blocks of a dictionary (`../dictionary/layout.ts`): one block holds a key of 80 bytes,
 * as many bytes as nginx takes for it on a 64-bit machine. Beside the dictionary's header:
 *
 *   header    56 u32 FNV-1a of the text that makes the keys
 *   entry     32 f64 time of the last request (request limits)   40 f64 excess, or number of requests
 */

export const REQUEST_LIMIT_MAGIC = 0x6777_7131;
export const CONNECTION_LIMIT_MAGIC = 0x6777_6331;
const LIMITS_VERSION = 1;
const KEY_WORD = 14;

/**
 * Returns the secret seed of the hash. Clients choose many of the keys, and must not be able to construct collisions.
 */
export function seedOf({ u32 }: Memory): number {
  return u32[IDENTITY_WORD] as number;
}

/*
 * A zone of connection limits has two kinds of entries for each key in use: one with the total of its requests, and one
 * for each thread with the requests of that thread, so that these can be subtracted when the thread dies.
 */

const TOTAL = ':';
const SHARE = /^(\d+)(:.*)$/s;

/** Returns the key of the entry that counts all requests of a key. */
export function totalOf(key: string): string {
  return TOTAL + key;
}

/** Returns the key of the entry that counts one thread's requests of a key. */
export function shareOf(key: string, threadId: number): string {
  return `${threadId}${TOTAL}${key}`;
}

/** Removes the counts of a thread that has exited. The caller holds the lock. */
function forgetThread(memory: Memory, threadId: number): void {
  const table = new Table(memory);
  for (const entry of entriesOf(table)) {
    const [, thread] = SHARE.exec(table.key(entry)) ?? [];
    if (thread === String(threadId)) table.remove(entry);
  }
  recount(memory);
}

/** Recomputes every total from its shares. The caller holds the lock. */
function recount(memory: Memory): void {
  const table = new Table(memory);
  const totals = new Map<string, number>();
  const entries = entriesOf(table);
  for (const entry of entries) {
    const [, , total] = SHARE.exec(table.key(entry)) ?? [];
    if (total !== undefined) totals.set(total, (totals.get(total) ?? 0) + table.number(entry));
  }
  for (const entry of entries) {
    const key = table.key(entry);
    if (!key.startsWith(TOTAL)) continue;
    const total = totals.get(key);
    totals.delete(key);
    if (total === undefined) table.remove(entry);
    else table.setNumber(entry, total);
  }
  // A writer that died between writing the two entries has left a share without a total.
  const payload = new Payload(seedOf(memory));
  for (const [key, value] of totals) {
    payload.encode(key);
    const hasRoom = table.reserve(payload.length, { replaced: 0, nowMs: -Infinity, evict: false });
    if (hasRoom) table.insert(payload, { value, expiresMs: 0 });
  }
}

function entriesOf(table: Table): number[] {
  const found: number[] = [];
  for (let entry = table.newest; entry !== 0; entry = table.older(entry)) found.push(entry);
  return found;
}

type LimitDeclaration = RequestLimitDeclaration | ConnectionLimitDeclaration;

/** The parts that both kinds of limits share. */
const shared: Omit<ZoneKind<LimitDeclaration>, 'magic' | 'repair'> = {
  bytes: ({ sizeBytes }) => sizeBytes - (sizeBytes % BLOCK_BYTES),

  fault({ name, sizeBytes }) {
    if (sizeBytes <= MAX_ZONE_BYTES) return undefined;
    return `zone "${name}" is too large: at most ${MAX_ZONE_BYTES} bytes are allowed, ${sizeBytes} given`;
  },

  conflict(later, earlier) {
    if (later.sizeBytes === earlier.sizeBytes) return undefined;
    return `the size ${later.sizeBytes} of shared memory zone "${later.name}" conflicts with already declared size ${earlier.sizeBytes}`;
  },

  format(buffer, { key }) {
    const memory = memoryOf(buffer);
    memory.u32[VERSION_WORD] = LIMITS_VERSION;
    memory.u32[KEY_WORD] = hashOf(key);
    rebuild(memory);
  },

  keeps(buffer, { key }) {
    const words = new Uint32Array(buffer, 0, KEY_WORD + 1);
    return words[VERSION_WORD] === LIMITS_VERSION && words[KEY_WORD] === hashOf(key);
  },
};

/** Request limits (limit_req_zone). */
export const requestLimitKind: ZoneKind<RequestLimitDeclaration> = {
  ...shared,
  magic: REQUEST_LIMIT_MAGIC,
  repair: (buffer) => repairDictionary(memoryOf(buffer)),
};

/** Connection limits (limit_conn_zone). */
export const connectionLimitKind: ZoneKind<ConnectionLimitDeclaration> = {
  ...shared,
  magic: CONNECTION_LIMIT_MAGIC,
  repair(buffer) {
    const memory = memoryOf(buffer);
    repairDictionary(memory);
    recount(memory);
  },
  leave: (buffer, threadId) => forgetThread(memoryOf(buffer), threadId),
};

function hashOf(key: string): number {
  return fnv1a(Buffer.from(key));
}
