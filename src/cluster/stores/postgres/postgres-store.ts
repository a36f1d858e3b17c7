import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionTarget } from '../../../postgres/index.ts';
import { ENTRY_VERSION } from '../entry.ts';
import {
  type StreamQuery,
  type Beat,
  type ClusterStore,
  type Counted,
  type Grant,
  type Heard,
  type KeysPart,
  type Member,
  type SealedEntry,
  type StoredEntry,
  StoreLost,
  type StoreOwner,
  type StreamState,
  type StreamTail,
} from '../store.ts';
import { PostgresSession } from './postgres-session.ts';
import {
  listOf,
  readCounters,
  readEntries,
  readHeard,
  readKeys,
  readLease,
  readMembers,
  readState,
  readTail,
  type Row,
} from './rows.ts';

interface PostgresStoreOptions {
  readonly target: ConnectionTarget;
  readonly namespace: string;
  /** Number of entries of a stream that are kept at least; removing old ones lags behind. */
  readonly retain: number;
  readonly timeoutMs: number;
}

/** Maximum number of entries of one read, of all streams together. */
const MOST_READ = 1_000;
/** Maximum number of entries of one statement of `tail`. Each has its own timeout, which slow connections need. */
const MOST_IN_PAGE = 250;
/** Maximum size of a read, and of an entry; a larger entry comes without its texts. */
const MAX_READ_BYTES = 8_388_608;
const MAX_ENTRY_BYTES = 1_048_576;
const MOST_MEMBERS = 10_000;
const MAX_MEMBERS_BYTES = 8_388_608;
const DELETED_MS = 600_000;
/** Pause between reads that notifications cause: any role that may connect can send as many as it likes. */
const WAKE_PAUSE_MS = 50;

/** A read that waits until it is woken by a notification or by the loss of the session. */
interface WaitingRead {
  readonly streams: ReadonlySet<string>;
  isWoken: boolean;
  wake: () => void;
}

/**
 * PostgreSQL, prepared by `gw db setup --cluster`. One session runs all statements and receives notifications, which
 * only say that a stream has new entries.
 */
export class PostgresStore implements ClusterStore {
  readonly #namespace: string;
  readonly #retain: number;
  readonly #session: PostgresSession;
  readonly #reads = new Set<WaitingRead>();

  constructor({ target, namespace, retain, timeoutMs }: PostgresStoreOptions, owner: StoreOwner) {
    this.#namespace = namespace;
    this.#retain = retain;
    this.#session = new PostgresSession(
      { target, timeoutMs, heard: (payload) => this.#heard(payload) },
      {
        up: () => owner.up(),
        down: (reason) => {
          this.restartReading();
          owner.down(reason);
        },
      },
    );
  }

  append(stream: string, entries: readonly SealedEntry[]): Promise<readonly number[]> {
    if (entries.length === 0) return Promise.resolve([]);
    return this.#call('append', this.#added(stream, entries), (rows) => readCounters(rows, entries.length));
  }

  async read(
    behind: ReadonlyMap<string, number>,
    waitMs: number,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>> {
    const read: WaitingRead = { streams: new Set(behind.keys()), isWoken: false, wake: () => undefined };
    const endMs = performance.now() + waitMs;
    this.#reads.add(read);
    try {
      for (let pauseMs = 0; ; pauseMs = WAKE_PAUSE_MS) {
        read.isWoken = false;
        const found = await this.#readAll(behind, Math.ceil(MOST_READ / behind.size));
        const restMs = endMs - performance.now();
        if (found.size > 0 || restMs <= 0) return found;
        await woken(read, restMs);
        if (!read.isWoken && performance.now() >= endMs) return found;
        // Usually, the first notification means that there is something to read.
        if (pauseMs > 0) await sleep(pauseMs);
      }
    } finally {
      this.#reads.delete(read);
    }
  }

  async tail(stream: string, count: number): Promise<StreamTail> {
    const { counter, behind } = await this.#call('tail', [stream, count], readTail);
    const entries: StoredEntry[] = [];
    for (let last = behind; last < counter; last = entries.at(-1)?.counter ?? counter) {
      const most = Math.min(count - entries.length, MOST_IN_PAGE);
      if (most <= 0) break;
      const page = (await this.#readAll(new Map([[stream, last]]), most)).get(stream);
      if (!page) break;
      entries.push(...page);
    }
    // More entries may have come since `tail` was asked.
    return { entries, counter: Math.max(counter, entries.at(-1)?.counter ?? 0) };
  }

  look(stream: string, { counter, origin, incarnation }: StreamQuery): Promise<StreamState> {
    return this.#call('look', [stream, counter, origin, incarnation], readState);
  }

  write(stream: string, entries: readonly SealedEntry[]): Promise<readonly number[]> {
    const writes = entries.map(({ fields }) => fields);
    const values = [
      ...this.#added(stream, entries),
      writes.map(([, key = '']) => sha256(key)),
      writes.map(([, , , , , ttlMs, , value]) =>
        value === undefined ? null : `${ttlMs === '0' ? '' : 'ttl '}${sha256(value)}`,
      ),
      writes.map(([, , , seen]) => seen),
      // A deletion is kept for a while, so that a node that was away does not overwrite it with an old value.
      writes.map(([, , , , , ttlMs, , value]) => (value === undefined ? DELETED_MS : ttlMs)),
    ];
    return this.#call('write', values, (rows) => readCounters(rows, entries.length));
  }

  keys(stream: string, from = ''): Promise<KeysPart> {
    return this.#call('keys', [stream, from, MOST_IN_PAGE, MAX_READ_BYTES, MAX_ENTRY_BYTES], readKeys);
  }

  lease(name: string, owner: string, ttlMs: number): Promise<boolean> {
    return this.#call('lease', [name, owner, Math.ceil(ttlMs)], readLease);
  }

  release(name: string, owner: string): Promise<void> {
    return this.#call('release', [name, owner], () => undefined);
  }

  /** Not offered: rows that all gateways write for each request would be slower than what they protect. */
  admit(): Promise<Grant> {
    return Promise.reject(new StoreLost('PostgreSQL shares no rate limits'));
  }

  /** Not offered, for the same reason. */
  count(): Promise<Counted> {
    return Promise.reject(new StoreLost('PostgreSQL shares no quotas'));
  }

  beat({ nodeId, incarnation, facts, heartbeatMs, digests }: Beat): Promise<Heard> {
    const values = [nodeId, incarnation, facts, Math.ceil(heartbeatMs)];
    return this.#call('beat', [...values, [...digests.keys()], [...digests.values()]], readHeard);
  }

  leave(nodeId: string, incarnation: string): Promise<void> {
    return this.#call('leave', [nodeId, incarnation], () => undefined);
  }

  members(): Promise<readonly Member[]> {
    return this.#call('members', [MOST_MEMBERS, MAX_MEMBERS_BYTES], readMembers);
  }

  /** PostgreSQL removes nothing by itself. */
  policy(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** No connection only reads, so each waiting read looks again instead. */
  restartReading(): void {
    for (const read of this.#reads) wake(read);
  }

  close(): void {
    this.#session.close();
    this.restartReading();
  }

  /** Returns the arguments of the functions that add entries. */
  #added(stream: string, entries: readonly SealedEntry[]): readonly unknown[] {
    const { origin = '', incarnation = '' } = entries[0] ?? {};
    const sequences = entries.map(({ sequence }) => sequence);
    const macs = entries.map(({ mac }) => mac);
    const lists = entries.map(({ fields }) => listOf(fields));
    return [stream, this.#retain, ENTRY_VERSION, origin, incarnation, sequences, macs, lists];
  }

  #readAll(
    behind: ReadonlyMap<string, number>,
    most: number,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>> {
    const streams = [...behind.keys()];
    const bytes = Math.floor(MAX_READ_BYTES / streams.length);
    const values = [streams, [...behind.values()].map(bigintOf), most, bytes, MAX_ENTRY_BYTES];
    return this.#call('read', values, (rows) => readEntries(rows, streams));
  }

  /** Calls a function of the store, with the namespace as its first argument. */
  #call<T>(name: string, values: readonly unknown[], read: (rows: readonly Row[]) => T): Promise<T> {
    const marks = [this.#namespace, ...values].map((_, nth) => `$${nth + 1}`);
    const text = `select * from gw_cluster.${name}(${marks.join(', ')})`;
    return this.#session.run({ name, text, values: [this.#namespace, ...values] }, read);
  }

  #heard(payload: string): void {
    const prefix = `${this.#namespace} `;
    if (!payload.startsWith(prefix)) return;
    const stream = payload.slice(prefix.length);
    for (const read of this.#reads) if (read.streams.has(stream)) wake(read);
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A counter that is not a safe integer was read as the largest one. Nothing can be read after that. */
function bigintOf(counter: number): string {
  return counter < Number.MAX_SAFE_INTEGER ? String(counter) : '9223372036854775807';
}

function wake(read: WaitingRead): void {
  read.isWoken = true;
  read.wake();
}

/** Waits until a read is woken, at most `waitMs`. Returns at once if it was woken before. */
function woken(read: WaitingRead, waitMs: number): Promise<void> {
  if (read.isWoken) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      read.wake = () => undefined;
      resolve();
    };
    const timer = setTimeout(settle, waitMs);
    read.wake = settle;
  });
}
