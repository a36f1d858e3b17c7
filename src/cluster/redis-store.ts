import type { Reply } from '../redis/index.ts';
import type { RedisBackend } from './backend.ts';
import {
  type Page,
  readCounters,
  readGrant,
  readHeard,
  readKeys,
  readLease,
  readMembers,
  readPage,
  readPolicy,
  readRange,
  readState,
  readStreams,
} from './redis-replies.ts';
import {
  ADMIT,
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
  PAGE,
  SCAN_KEYS,
  streamKeys,
  WRITE,
} from './redis-scripts.ts';
import {
  type Admitting,
  type Asked,
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
} from './store.ts';
import {
  type Commands,
  isTooLarge,
  openServers,
  type RedisServers,
  type ScriptCall,
} from './servers/index.ts';

interface RedisStoreOptions {
  readonly backend: RedisBackend;
  readonly namespace: string;
  /** Number of entries of a stream that are kept, and some more: whole blocks are trimmed. */
  readonly retain: number;
  readonly timeoutMs: number;
}

/** Number of entries of one read. */
const MOST_READ = 1_000;
/** Number of entries of one command of `tail`: each has the same timeout, on slow lines too. */
const MOST_IN_PAGE = 250;
/** Size of a page of large entries, which is that of the largest entry. */
const MAX_PAGE_BYTES = 1_048_576;
/** Number of keys of one part, with the largest values less than a reply may have. */
const KEYS_IN_PART = 100;
const MOST_MEMBERS = 10_000;
const MAX_MEMBERS_BYTES = 8_388_608;
const LAST_ID = '18446744073709551615';

/** An id range for `XRANGE`, `XREVRANGE` and the script that replaces them. */
interface Range {
  readonly command: 'XRANGE' | 'XREVRANGE';
  readonly from: string;
  readonly to: string;
  /** The entry `from` has been read. */
  readonly isRead: boolean;
  readonly count: number;
}

/** Redis 6 or newer, or Valkey: one server, the master that Sentinels know, or a Redis Cluster. */
export class RedisStore implements ClusterStore {
  readonly #namespace: string;
  readonly #retain: number;
  readonly #servers: RedisServers;
  /** Streams of which a read was too large: they are read in small pages until they are read. */
  readonly #large = new Set<string>();

  constructor({ backend, namespace, retain, timeoutMs }: RedisStoreOptions, owner: StoreOwner) {
    this.#namespace = namespace;
    this.#retain = retain;
    const [, probeKey] = nodeKeys(namespace);
    this.#servers = openServers(backend, { timeoutMs, probeKey }, owner);
  }

  append(stream: string, entries: readonly SealedEntry[]): Promise<readonly number[]> {
    if (entries.length === 0) return Promise.resolve([]);
    const call = { script: APPEND, keys: this.#keys(stream), args: this.#added(entries) };
    return this.#run(call, readCounters);
  }

  async read(
    behind: ReadonlyMap<string, number>,
    waitMs: number,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>> {
    const found = await this.#readLarge(behind);
    return found.size > 0 ? found : this.#readAll(behind, waitMs);
  }

  async tail(stream: string, count: number): Promise<StreamTail> {
    const { counter } = await this.look(stream, { counter: 0, origin: '', incarnation: '' });
    const entries: StoredEntry[] = [];
    let from = '+';
    while (entries.length < count) {
      const most = Math.min(count - entries.length, MOST_IN_PAGE);
      const isRead = entries.length > 0;
      const range: Range = { command: 'XREVRANGE', from, to: '-', isRead, count: most };
      const page = await this.#page(this.#servers.writing(this.#keys(stream)[0]), stream, range);
      entries.push(...page.entries);
      if (!page.hasMore || page.lastId === undefined) break;
      from = page.lastId;
    }
    // More may have come since.
    return { entries: entries.reverse(), counter: Math.max(counter, entries.at(-1)?.counter ?? 0) };
  }

  look(stream: string, { counter, origin, incarnation }: Asked): Promise<StreamState> {
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

  admit({ zone, keyHash, milliRequestsPerSecond, burst, requests }: Admitting): Promise<Grant> {
    const keys = [bucketKey(this.#namespace, zone, keyHash)];
    const args = [milliRequestsPerSecond, burst, requests].map(String);
    return this.#run({ script: ADMIT, keys, args }, readGrant);
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

  readAnew(): void {
    this.#servers.readAnew();
  }

  close(): void {
    this.#servers.close();
  }

  #run<T>(call: ScriptCall, read: (reply: Reply) => T): Promise<T> {
    return this.#servers.writing(call.keys[0] as string).run(call, read);
  }

  /** The arguments of the scripts that add entries. */
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

  async #readAll(
    behind: ReadonlyMap<string, number>,
    waitMs: number,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>> {
    const streams = new Map([...behind.keys()].map((stream) => [this.#keys(stream)[0], stream]));
    const count = Math.ceil(MOST_READ / behind.size);
    const wait = Math.ceil(waitMs);
    // Redis takes 0 for no end.
    const block = wait > 0 ? ['BLOCK', String(wait)] : [];
    const args = [
      'COUNT',
      String(count),
      ...block,
      'STREAMS',
      ...streams.keys(),
      ...[...behind.values()].map(lastIdOf),
    ];
    try {
      const found = await this.#servers.reading('').ask({ name: 'xread', args, waitMs: wait }, readStreams);
      return new Map([...found].map(([key, entries]) => [streams.get(key) ?? key, entries]));
    } catch (error) {
      if (isTooLarge(error)) for (const stream of behind.keys()) this.#large.add(stream);
      throw error;
    }
  }

  async #readLarge(
    behind: ReadonlyMap<string, number>,
  ): Promise<ReadonlyMap<string, readonly StoredEntry[]>> {
    const found = new Map<string, readonly StoredEntry[]>();
    for (const [stream, counter] of behind) {
      if (!this.#large.has(stream)) continue;
      const from = counter < Number.MAX_SAFE_INTEGER ? `${counter + 1}-0` : `${LAST_ID}-${LAST_ID}`;
      const range: Range = { command: 'XRANGE', from, to: '+', isRead: false, count: MOST_IN_PAGE };
      const page = await this.#page(this.#servers.reading(this.#keys(stream)[0]), stream, range);
      if (!page.hasMore) this.#large.delete(stream);
      if (page.entries.length > 0) found.set(stream, page.entries);
    }
    return found;
  }

  async #page(commands: Commands, stream: string, range: Range): Promise<Page> {
    const { command, from, to, isRead, count } = range;
    const [key] = this.#keys(stream);
    if (this.#large.has(stream)) {
      const args = [command, from, to, isRead ? '1' : '0', String(count), String(MAX_PAGE_BYTES)];
      return commands.run({ script: PAGE, keys: [key], args }, readPage);
    }
    const most = isRead ? count + 1 : count;
    const known = isRead ? from : undefined;
    const args = [key, from, to, 'COUNT', String(most)];
    try {
      return await commands.ask({ name: command, args }, (reply) => readRange(reply, { count: most, known }));
    } catch (error) {
      if (isTooLarge(error)) this.#large.add(stream);
      throw error;
    }
  }
}

async function policyOf(commands: Commands): Promise<string | undefined> {
  try {
    return await commands.ask({ name: 'info', args: ['memory'] }, readPolicy);
  } catch (error) {
    // No right to it, or no such command.
    if (error instanceof StoreRefused && /^(?:NOPERM|ERR)\b/.test(error.message)) return undefined;
    throw error;
  }
}

/** The highest id with a counter: what somebody else has added behind the entry is not read again. */
function lastIdOf(counter: number): string {
  return `${counter < Number.MAX_SAFE_INTEGER ? counter : LAST_ID}-${LAST_ID}`;
}
