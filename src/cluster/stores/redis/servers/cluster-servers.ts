import { type Endpoint, redisLabel } from '../../../../redis/index.ts';
import type { ClusterBackend } from '../../backend.ts';
import { StoreLost, type StoreOwner } from '../../store.ts';
import { readSlots, type ServerAddress, type SlotRange } from '../redis-replies.ts';
import { type Command, type Commands, type RedisServers, runScript } from './commands.ts';
import { keySlot } from './key-slot.ts';
import { Primary } from './primary.ts';
import { askFollowing, type Route, SlotReader, type Target } from './redirections.ts';
import { askInTurn, Search } from './search.ts';
import { StoreConnection } from './store-connection.ts';

interface ClusterServersOptions {
  readonly backend: ClusterBackend;
  readonly timeoutMs: number;
  /** Returns the key of a stream. */
  readonly keyOf: (stream: string) => string;
}

const SLOTS: Command = { name: 'cluster', args: ['slots'] };
/** Maximum number of redirected slots that are remembered until the map is read again. */
const MOST_REDIRECTED = 16_384;

/** A server that has slots. */
interface Shard {
  readonly label: string;
  readonly endpoint: Endpoint;
  readonly primary: Primary;
}

/**
 * A Redis Cluster. Each server that has slots has one connection for commands. Each key that is read has one on which
 * commands wait, since one command cannot have keys of several slots. The map of the slots is read from any server, and
 * again when a command is redirected or a server is lost. The store is up when at least one server is; commands for
 * other servers wait.
 */
export class ClusterServers implements RedisServers {
  readonly isSplit = true;
  readonly #options: ClusterServersOptions;
  readonly #owner: StoreOwner;
  readonly #search = new Search((signal) => this.#look(signal));
  #ranges: readonly SlotRange[] = [];
  /** By label. */
  readonly #shards = new Map<string, Shard>();
  /** By key. */
  readonly #readers = new Map<string, SlotReader>();
  /** A server has come up since the owner was last told. */
  #hasNews = false;
  #isUp = false;
  /** Why some or all servers cannot be reached, as the owner was told. */
  #reason: string | undefined;
  #isClosed = false;

  constructor(options: ClusterServersOptions, owner: StoreOwner) {
    this.#options = options;
    this.#owner = owner;
    this.#search.again();
  }

  writing(key: string): Commands {
    const slot = keySlot(key);
    const { timeoutMs } = this.#options;
    const route: Route = {
      start: () => this.#targetOf(slot),
      connectionTo: (target) => this.#shardAt(target).primary.connection,
      redirected: (target) => this.#redirected(slot, target),
    };
    const ask: Commands['ask'] = (command, read) => askFollowing(route, { command, timeoutMs }, read);
    return {
      ask: async (command, read) => ask(command, read),
      run: (call, read) => runScript({ ask }, call, read),
    };
  }

  reading(key: string): Commands {
    const known = this.#readers.get(key);
    if (known) return known;
    const slot = keySlot(key);
    const { timeoutMs } = this.#options;
    const reader = new SlotReader({
      timeoutMs,
      start: () => this.#targetOf(slot),
      open: ({ address }) => new StoreConnection({ endpoint: this.#endpointAt(address), timeoutMs }),
      redirected: (target) => this.#redirected(slot, target),
    });
    this.#readers.set(key, reader);
    return reader;
  }

  all(): readonly Commands[] {
    return this.#upShards.map(({ primary }) => primary.connection);
  }

  readOnly(keys: ReadonlySet<string>): void {
    for (const [key, reader] of this.#readers) {
      if (keys.has(key)) continue;
      reader.close();
      this.#readers.delete(key);
    }
  }

  restartReading(): void {
    for (const reader of this.#readers.values()) reader.renew('it lacks entries that the store has');
  }

  close(): void {
    this.#isClosed = true;
    this.#reason = 'closed';
    this.#search.close();
    for (const { primary } of this.#shards.values()) primary.connection.close();
    this.readOnly(new Set());
  }

  get #upShards(): readonly Shard[] {
    return [...this.#shards.values()].filter(({ primary }) => primary.isUp);
  }

  /** Servers that are certainly down, not still connecting. */
  get #downShards(): readonly Shard[] {
    return [...this.#shards.values()].filter(
      ({ primary: { isUp, reason, connection } }) =>
        !isUp && (reason !== '' || !(connection.isNew || connection.isUp)),
    );
  }

  #endpointAt(address: ServerAddress): Endpoint {
    return { kind: 'inet', ...address, ...this.#options.backend.access };
  }

  #targetOf(slot: number): Target {
    const range = this.#ranges.findLast(({ from, to }) => from <= slot && slot <= to);
    if (range && !this.#isClosed) return { address: range.address };
    this.#search.again();
    throw new StoreLost(this.#reason ?? (this.#isUp ? `no server has slot ${slot}` : 'not connected yet'));
  }

  #shardAt({ address }: Target): Shard {
    const endpoint = this.#endpointAt(address);
    const label = redisLabel(endpoint);
    let shard = this.#shards.get(label);
    if (!shard) {
      const { timeoutMs } = this.#options;
      const primary = new Primary(
        { endpoint, timeoutMs, probe: () => Promise.resolve(undefined) },
        {
          up: () => {
            this.#hasNews = true;
            this.#judge();
          },
          down: () => this.#judge(),
        },
      );
      shard = { label, endpoint, primary };
      this.#shards.set(label, shard);
      // A server that neither answers nor refuses must not delay the others.
      void primary.connection.ready().then(
        () => undefined,
        () => this.#judge(),
      );
    }
    return shard;
  }

  /** Remembers which server has a slot until the map is read again. */
  #redirected(slot: number, { address, isAsking }: Target): void {
    if (this.#isClosed || isAsking) return;
    this.#ranges = [...this.#ranges.slice(-MOST_REDIRECTED), { from: slot, to: slot, address }];
    this.#search.again();
  }

  async #look(signal: AbortSignal): Promise<void> {
    try {
      this.#adopt(await this.#learn(signal));
      if (this.#downShards.length === 0) this.#search.end();
      else this.#search.again();
    } catch (error) {
      if (signal.aborted) return;
      if (!this.#isUp) this.#down(`no server tells the slots: ${(error as Error).message}`);
      this.#search.again();
    }
  }

  /** Asks a connected server for the map; if there is none, all known servers and the seeds in turn. */
  async #learn(signal: AbortSignal): Promise<readonly SlotRange[]> {
    const { backend, timeoutMs } = this.#options;
    const ask = (connection: StoreConnection, asked: Endpoint): Promise<readonly SlotRange[]> =>
      connection.ask(SLOTS, (reply) => readSlots(reply, asked.kind === 'inet' ? asked.host : ''));
    const upShards = this.#upShards;
    // Not always the same one, which may be cut off from the others.
    const chosen = upShards[Math.floor(Math.random() * upShards.length)];
    if (chosen) {
      const told = await ask(chosen.primary.connection, chosen.endpoint).catch(() => undefined);
      if (told) return told;
    }
    const known = [...this.#shards.values()].map(({ endpoint }) => endpoint);
    const open = (server: Endpoint) => {
      const connection = new StoreConnection({ endpoint: server, timeoutMs });
      const told = connection.ready().then(() => ask(connection, server));
      return { told, close: () => connection.close() };
    };
    const { value, connection } = await askInTurn([...known, ...backend.seeds], open, signal);
    connection.close();
    return value;
  }

  #adopt(ranges: readonly SlotRange[]): void {
    if (this.#isClosed) return;
    this.#ranges = ranges;
    const used = new Set(ranges.map(({ address }) => this.#shardAt({ address }).label));
    for (const [label, { primary }] of this.#shards) {
      if (used.has(label)) continue;
      primary.connection.close();
      this.#shards.delete(label);
    }
    this.#judge();
  }

  /** Tells the owner which servers can be reached, once that is known of all. */
  #judge(): void {
    if (this.#isClosed) return;
    const down = this.#downShards;
    const [first] = down;
    if (first) this.#search.again();
    if (this.#upShards.length + down.length < this.#shards.size) return;
    const reason = first && `${first.label}: ${first.primary.reason || 'it does not answer'}`;
    if (down.length === this.#shards.size) return this.#down(reason ?? 'no server has slots');
    const isWhole = reason === undefined && this.#reason !== undefined;
    if (this.#hasNews || !this.#isUp || isWhole) {
      this.#hasNews = false;
      this.#isUp = true;
      this.#reason = undefined;
      this.#owner.up();
    }
    const partly = reason && `${down.length} of ${this.#shards.size} servers: ${reason}`;
    if (partly === undefined || partly === this.#reason) return;
    this.#reason = partly;
    this.#owner.partlyDown?.(partly, (stream) => this.#isAway(stream));
  }

  #down(reason: string): void {
    this.#isUp = false;
    if (reason === this.#reason) return;
    this.#reason = reason;
    this.#owner.down(reason);
  }

  #isAway(stream: string): boolean {
    const slot = keySlot(this.#options.keyOf(stream));
    const range = this.#ranges.findLast(({ from, to }) => from <= slot && slot <= to);
    const shard = range && this.#shards.get(redisLabel(this.#endpointAt(range.address)));
    return shard?.primary.isUp !== true;
  }
}
