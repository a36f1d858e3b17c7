import type { Reply } from '../../../redis/index.ts';
import type { RedisBackend } from '../backend.ts';
import {
  type Admitting,
  type Counted,
  type Counting,
  type StreamQuery,
  type Beat,
  type ClusterStore,
  type Grant,
  type Heard,
  type KeysPart,
  type Member,
  type SealedEntry,
  type StoredEntry,
  type StoreOwner,
  StoreRefused,
  type StreamState,
  type StreamTail,
} from '../store.ts';
import { EntryReader, type ReadOptions } from './entry-reader.ts';
import {
  readCounters,
  readCounted,
  readGrant,
  readHeard,
  readKeys,
  readLease,
  readMembers,
  readPolicy,
  readState,
} from './redis-replies.ts';
import {
  ADMIT,
  COUNT,
  quotaKey,
  APPEND,
  BEAT,
  bucketKey,
  keyedKeys,
  LEASE,
  leaseKey,
  LEAVE,
  LOOK,
  MEMBERS,
  nodeKeys,
  RELEASE,
  SCAN_KEYS,
  streamKeys,
  WRITE,
} from './redis-scripts.ts';
import { type Commands, openServers, type RedisServers, type ScriptCall } from './servers/index.ts';
import { SplitReads } from './split-reads.ts';

interface RedisStoreOptions {
  readonly backend: RedisBackend;
  readonly namespace: string;
  /** Number of entries of a stream that are kept at least; Redis trims whole blocks. */
  readonly retain: number;
  readonly timeoutMs: number;
}

/** Number of keys of one part: even with the largest values, a reply does not exceed its limit. */
const KEYS_IN_PART = 100;
const MOST_MEMBERS = 10_000;
const MAX_MEMBERS_BYTES = 8_388_608;
/** Redis 6 or newer, or Valkey: one server, a master that Sentinels know, or a Redis Cluster. */
export class RedisStore implements ClusterStore {
  readonly #namespace: string;
  readonly #retain: number;
  readonly #servers: RedisServers;
  readonly #reader = new EntryReader((stream) => this.#keys(stream)[0]);
  readonly #split = new SplitReads((stream, counter, options) => this.#readOne(stream, counter, options));

  constructor({ backend, namespace, retain, timeoutMs }: RedisStoreOptions, owner: StoreOwner) {
    this.#namespace = namespace;
    this.#retain = retain;
    const [, probeKey] = nodeKeys(namespace);
    this.#servers = openServers(
      backend,
      { timeoutMs, probeKey, keyOf: (stream) => this.#keys(stream)[0] },
      owner,
    );
  }

  append(stream: string, entries: readonly SealedEntry[]): Promise<readonly number[]> {
    if (entries.length === 0) return Promise.resolve([]);
    const call = { script: APPEND, keys: this.#keys(stream), args: this.#added(entries) };
    return this.#run(call, readCounters);
  }

  read(
    behind: ReadonlyMap<string, number>,
    waitMs: number,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>> {
    const keys = [...behind.keys()].map((stream) => this.#keys(stream)[0]);
    this.#servers.readOnly(new Set(keys));
    if (this.#servers.isSplit) return this.#split.read(behind, waitMs);
    return this.#reader.read(this.#servers.reading(keys[0] as string), behind, { waitMs });
  }

  async tail(stream: string, count: number): Promise<StreamTail> {
    const { counter } = await this.look(stream, { counter: 0, origin: '', incarnation: '' });
    const entries = await this.#reader.newest(this.#servers.writing(this.#keys(stream)[0]), stream, count);
    // More entries may have come since `look`.
    return { entries, counter: Math.max(counter, entries.at(-1)?.counter ?? 0) };
  }

  look(stream: string, { counter, origin, incarnation }: StreamQuery): Promise<StreamState> {
    const args = [String(counter), origin, incarnation];
    return this.#run({ script: LOOK, keys: this.#keys(stream), args }, readState);
  }

  write(stream: string, entries: readonly SealedEntry[]): Promise<readonly number[]> {
    const keys = keyedKeys(this.#namespace, stream);
    return this.#run({ script: WRITE, keys, args: this.#added(entries) }, readCounters);
  }

  keys(stream: string, from = '0'): Promise<KeysPart> {
    const keys = keyedKeys(this.#namespace, stream);
    return this.#run({ script: SCAN_KEYS, keys, args: [from, String(KEYS_IN_PART)] }, readKeys);
  }

  lease(name: string, owner: string, ttlMs: number): Promise<boolean> {
    const args = [owner, String(Math.ceil(ttlMs))];
    return this.#run({ script: LEASE, keys: [leaseKey(this.#namespace, name)], args }, readLease);
  }

  release(name: string, owner: string): Promise<void> {
    const call = { script: RELEASE, keys: [leaseKey(this.#namespace, name)], args: [owner] };
    return this.#run(call, () => undefined);
  }

  admit({ zone, keyHash, milliRequestsPerSecond, burst, requests }: Admitting): Promise<Grant> {
    const keys = [bucketKey(this.#namespace, zone, keyHash)];
    const args = [milliRequestsPerSecond, burst, requests].map(String);
    return this.#run({ script: ADMIT, keys, args }, readGrant);
  }

  count({ zone, keyHash, limit, needed, more, ttlMs }: Counting): Promise<Counted> {
    const keys = [quotaKey(this.#namespace, zone, keyHash)];
    const args = [limit, needed, more, Math.ceil(ttlMs)].map(String);
    return this.#run({ script: COUNT, keys, args }, readCounted);
  }

  beat({ nodeId, incarnation, facts, heartbeatMs, digests }: Beat): Promise<Heard> {
    const args = [nodeId, incarnation, facts, String(heartbeatMs), ...[...digests].flat()];
    return this.#run({ script: BEAT, keys: nodeKeys(this.#namespace), args }, readHeard);
  }

  leave(nodeId: string, incarnation: string): Promise<void> {
    const args = [nodeId, incarnation];
    return this.#run({ script: LEAVE, keys: nodeKeys(this.#namespace), args }, () => undefined);
  }

  members(): Promise<readonly Member[]> {
    const args = [String(MOST_MEMBERS), String(MAX_MEMBERS_BYTES)];
    return this.#run({ script: MEMBERS, keys: nodeKeys(this.#namespace), args }, readMembers);
  }

  async policy(): Promise<string | undefined> {
    const policies = await Promise.all(this.#servers.all().map(policyOf));
    return policies.find((policy) => policy !== undefined && policy !== 'noeviction') ?? policies[0];
  }

  restartReading(): void {
    this.#servers.restartReading();
  }

  close(): void {
    this.#servers.close();
  }

  #run<T>(call: ScriptCall, read: (reply: Reply) => T): Promise<T> {
    return this.#servers.writing(call.keys[0] as string).run(call, read);
  }

  async #readOne(stream: string, counter: number, options: ReadOptions): Promise<readonly StoredEntry[]> {
    const commands = this.#servers.reading(this.#keys(stream)[0]);
    const found = await this.#reader.read(commands, new Map([[stream, counter]]), options);
    return found.get(stream) ?? [];
  }

  /** Returns the arguments of the scripts that add entries. */
  #added(entries: readonly SealedEntry[]): readonly string[] {
    const { origin = '', incarnation = '' } = entries[0] ?? {};
    const args = [String(this.#retain), origin, incarnation];
    for (const { sequence, mac, fields } of entries)
      args.push(String(sequence), mac, String(fields.length), ...fields);
    return args;
  }

  #keys(stream: string): readonly [key: string, hash: string] {
    return streamKeys(this.#namespace, stream);
  }
}

async function policyOf(commands: Commands): Promise<string | undefined> {
  try {
    return await commands.ask({ name: 'info', args: ['memory'] }, readPolicy);
  } catch (error) {
    // The user may not call it, or the command does not exist.
    if (error instanceof StoreRefused && /^(?:NOPERM|ERR)\b/.test(error.message)) return undefined;
    throw error;
  }
}
