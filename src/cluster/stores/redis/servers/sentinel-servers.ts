import { type Endpoint, redisLabel } from '../../../../redis/index.ts';
import type { SentinelBackend } from '../../backend.ts';
import { type StoreOwner, StoreRefused } from '../../store.ts';
import { readRole } from '../redis-replies.ts';
import { type Commands, lostCommands, type RedisServers } from './commands.ts';
import { OneServer } from './one-server.ts';
import { askInTurn, Search } from './search.ts';
import { SentinelConnection } from './sentinel-connection.ts';

interface SentinelServersOptions {
  readonly backend: SentinelBackend;
  readonly timeoutMs: number;
  readonly probe: (commands: Commands) => Promise<string | undefined>;
}

/**
 * A master that Sentinels know by a name. They are asked in turn when the master is lost or became a replica, and when
 * the Sentinel that answered last announces a new master
 * (https://redis.io/docs/latest/develop/reference/sentinel-clients/).
 */
export class SentinelServers implements RedisServers {
  readonly isSplit = false;
  readonly #options: SentinelServersOptions;
  readonly #owner: StoreOwner;
  readonly #search = new Search((signal) => this.#look(signal));
  #sentinels: readonly Endpoint[];
  /** The connection to the Sentinel that answered last. */
  #listening: SentinelConnection | undefined;
  #master: { readonly label: string; readonly server: OneServer } | undefined;
  /** Why it is down, as the owner was told; `undefined` while it is up. */
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

  restartReading(): void {
    this.#master?.server.restartReading();
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
    const owner = {
      down: () => {
        if (this.#listening?.isUp === false) this.#search.again();
      },
      switched: () => this.#search.now(),
    };
    const open = (sentinel: Endpoint): SentinelConnection =>
      new SentinelConnection({ sentinel, name: backend.name, timeoutMs }, owner);
    try {
      const told = await askInTurn(this.#sentinels, open, signal);
      if (signal.aborted) return told.connection.close();
      this.#listening = told.connection;
      // Next time, the Sentinel that answered is asked first.
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
}

/** Returns a probe that asks a server for its role, and then whether it takes a write. */
export function masterProbe(write: (commands: Commands) => Promise<undefined>) {
  return async (commands: Commands): Promise<string | undefined> => {
    try {
      const role = await commands.ask({ name: 'role', args: [] }, readRole);
      if (role !== 'master') return role === 'slave' ? 'it is a replica' : 'it is not a master';
    } catch (error) {
      if (!(error instanceof StoreRefused)) throw error;
    }
    return write(commands);
  };
}
