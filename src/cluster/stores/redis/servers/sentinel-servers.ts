import { type Endpoint, redisLabel, type Reply, type ReplyError } from '../../../../redis/index.ts';
import type { SentinelBackend } from '../../backend.ts';
import { type StoreOwner, StoreRefused } from '../../store.ts';
import { readAddress, readRole, type ServerAddress } from '../redis-replies.ts';
import { askInTurn } from './ask-in-turn.ts';
import { type Commands, lostCommands, type RedisServers } from './commands.ts';
import { OneServer } from './one-server.ts';
import { Search } from './search.ts';
import type { StoreConnection } from './store-connection.ts';

interface SentinelServersOptions {
  readonly backend: SentinelBackend;
  readonly timeoutMs: number;
  readonly probe: (commands: Commands) => Promise<string | undefined>;
}

/** The channel on which a Sentinel tells of a new master. */
const SWITCHED = '+switch-master';

/**
 * The master of a name that Sentinels know. They are asked in turn when it is lost or is no master any more, and when the one that
 * answered last tells of a new one (https://redis.io/docs/latest/develop/reference/sentinel-clients/).
 */
export class SentinelServers implements RedisServers {
  readonly isSplit = false;
  readonly #options: SentinelServersOptions;
  readonly #owner: StoreOwner;
  readonly #search = new Search((signal) => this.#look(signal));
  #sentinels: readonly Endpoint[];
  /** The connection to the Sentinel that answered last. */
  #listening: StoreConnection | undefined;
  #master: { readonly label: string; readonly server: OneServer } | undefined;
  /** The last reason that the owner was told for its being down. */
  #told: string | undefined;

  constructor(options: SentinelServersOptions, owner: StoreOwner) {
    this.#options = options;
    this.#owner = owner;
    this.#sentinels = options.backend.sentinels;
    this.#search.again();
  }

  writing(): Commands {
    return this.#master?.server.writing() ?? this.#nobody();
  }

  reading(): Commands {
    return this.#master?.server.reading() ?? this.#nobody();
  }

  all(): readonly Commands[] {
    return [this.writing()];
  }

  readOnly(): void {
    // One connection waits for all keys.
  }

  readAnew(): void {
    this.#master?.server.readAnew();
  }

  close(): void {
    this.#told = 'closed';
    this.#search.close();
    this.#listening?.close();
    this.#master?.server.close();
  }

  #nobody(): Commands {
    return lostCommands(this.#told ?? 'no Sentinel has been asked yet');
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { backend, timeoutMs } = this.#options;
    this.#listening?.close();
    this.#listening = undefined;
    const ask = (sentinel: StoreConnection): Promise<ServerAddress> => masterOf(backend.name, sentinel);
    const owner = {
      down: () => {
        if (this.#listening?.isUp === false) this.#search.again();
      },
      unasked: (message: Reply | ReplyError) => this.#heard(message),
    };
    try {
      const told = await askInTurn(this.#sentinels, { timeoutMs, ask, signal, owner });
      if (signal.aborted) return told.connection.close();
      this.#listening = told.connection;
      // The next time, the one that answers comes first.
      this.#sentinels = [told.server, ...this.#sentinels.filter((one) => one !== told.server)];
      this.#follow({ kind: 'inet', ...told.value, ...backend.access });
    } catch (error) {
      if (!this.#isUp) this.#down(`no Sentinel tells the master: ${(error as Error).message}`);
    }
    if (this.#isUp && this.#listening) this.#search.end();
    else this.#search.again();
  }

  get #isUp(): boolean {
    return this.#master?.server.isUp === true;
  }

  #follow(endpoint: Endpoint): void {
    const label = redisLabel(endpoint);
    if (this.#master?.label === label) return;
    if (this.#isUp) this.#down('another server is the master now');
    this.#master?.server.close();
    const { timeoutMs, probe } = this.#options;
    const server = new OneServer(
      { endpoint, timeoutMs, probe },
      {
        up: () => {
          this.#told = undefined;
          if (this.#listening) this.#search.end();
          this.#owner.up();
        },
        down: (reason) => {
          this.#down(reason);
          this.#search.again();
        },
      },
    );
    this.#master = { label, server };
  }

  #down(reason: string): void {
    if (this.#told === reason) return;
    this.#told = reason;
    this.#owner.down(reason);
  }

  /** A message is a list: its kind, the channel, and `NAME OLD-HOST OLD-PORT NEW-HOST NEW-PORT`. */
  #heard(message: Reply | ReplyError): void {
    const items: readonly unknown[] = Array.isArray(message) ? message : [];
    const [, channel, text = ''] = items.map((item) => (Buffer.isBuffer(item) ? item.toString() : ''));
    if (channel === SWITCHED && text.startsWith(`${this.#options.backend.name} `)) this.#search.now();
  }
}

/** Asks a Sentinel for the address of a master, and to tell of the next one. */
async function masterOf(name: string, sentinel: StoreConnection): Promise<ServerAddress> {
  const asked = sentinel.ask({ name: 'sentinel', args: ['get-master-addr-by-name', name] }, readAddress);
  // Without the right to subscribe, the loss of the master is what tells.
  const subscribed = sentinel.ask({ name: 'subscribe', args: [SWITCHED] }, () => undefined);
  const [address] = await Promise.all([asked, subscribed.catch(ignoreRefusal)]);
  if (!address) throw new StoreRefused(`it knows no master "${name}"`);
  return address;
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof StoreRefused)) throw error;
}

/** A probe that asks a server for its role, and finds out whether it takes a write. */
export function masterProbe(write: (commands: Commands) => Promise<undefined>) {
  return async (commands: Commands): Promise<string | undefined> => {
    try {
      const role = await commands.ask({ name: 'role', args: [] }, readRole);
      if (role !== 'master') return role === 'slave' ? 'it is a replica' : 'it is no master';
    } catch (error) {
      ignoreRefusal(error);
    }
    return write(commands);
  };
}
