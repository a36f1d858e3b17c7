import type { Endpoint } from '../../../../redis/index.ts';
import type { StoreOwner } from '../../store.ts';
import { readText } from '../redis-replies.ts';
import type { Commands, RedisServers } from './commands.ts';
import { Primary } from './primary.ts';
import { StoreConnection } from './store-connection.ts';

interface OneServerOptions {
  readonly endpoint: Endpoint;
  readonly timeoutMs: number;
  readonly probe: (commands: Commands) => Promise<string | undefined>;
}

/** Returns a probe that deletes nothing from a hash. A replica accepts connections and answers, but refuses a write. */
export const writeProbe =
  (key: string) =>
  async (commands: Commands): Promise<undefined> => {
    await commands.ask({ name: 'hdel', args: [key, ''] }, readText);
  };

/**
 * One server. One connection sends commands; another one waits for entries. The second is dropped with the first, since
 * after a failover the address may lead to another server.
 */
export class OneServer implements RedisServers {
  readonly isSplit = false;
  readonly #primary: Primary;
  readonly #reading: StoreConnection;
  /** Why it is down, as the owner was told; `undefined` while it is up. */
  #told: string | undefined;

  constructor({ endpoint, timeoutMs, probe }: OneServerOptions, owner: StoreOwner) {
    this.#reading = new StoreConnection({ endpoint, timeoutMs });
    this.#primary = new Primary(
      { endpoint, timeoutMs, probe },
      {
        up: () => {
          this.#told = undefined;
          owner.up();
        },
        down: (reason) => {
          this.#reading.drop('the store is down');
          if (reason === this.#told) return;
          this.#told = reason;
          owner.down(reason);
        },
      },
    );
  }

  get isUp(): boolean {
    return this.#primary.isUp;
  }

  writing(): Commands {
    return this.#primary.connection;
  }

  reading(): Commands {
    return this.#reading;
  }

  all(): readonly Commands[] {
    return [this.#primary.connection];
  }

  readOnly(): void {
    // One connection waits for all keys.
  }

  restartReading(): void {
    this.#reading.renew('it lacks entries that the store has');
  }

  close(): void {
    this.#primary.connection.close();
    this.#reading.close();
  }
}
