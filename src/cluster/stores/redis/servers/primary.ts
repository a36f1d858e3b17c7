import type { Endpoint } from '../../../../redis/index.ts';
import { type StoreOwner, StoreRefused } from '../../store.ts';
import type { Commands } from './commands.ts';
import { StoreConnection } from './store-connection.ts';

interface PrimaryOptions {
  readonly endpoint: Endpoint;
  readonly timeoutMs: number;
  /** Returns why a server cannot be written to, if its refusals do not say so themselves. Rejects as commands do. */
  readonly probe: (commands: Commands) => Promise<string | undefined>;
}

/** The connection that writes to a server. It is up when the server answers and takes writes. */
export class Primary {
  readonly connection: StoreConnection;
  readonly #probing: PrimaryOptions['probe'];
  readonly #owner: StoreOwner;
  /** Why it is down; `undefined` while it is up. */
  #downReason: string | undefined = '';

  constructor({ endpoint, timeoutMs, probe }: PrimaryOptions, owner: StoreOwner) {
    this.#probing = probe;
    this.#owner = owner;
    this.connection = new StoreConnection(
      { endpoint, timeoutMs },
      { up: () => void this.#probe(), down: (reason) => this.#isDown(reason) },
    );
  }

  get isUp(): boolean {
    return this.#downReason === undefined;
  }

  /** Why it is down; empty while that is not known. */
  get reason(): string {
    return this.#downReason ?? '';
  }

  async #probe(): Promise<void> {
    const { connection } = this;
    try {
      const reason = await this.#probing(connection);
      if (reason !== undefined) connection.standBack(reason);
    } catch (error) {
      // Any other refusal shows that the store answers; later commands get it, too.
      if (!(error instanceof StoreRefused)) connection.drop('it does not answer a command');
    }
    if (!connection.isUp || this.isUp) return;
    this.#downReason = undefined;
    this.#owner.up();
  }

  #isDown(reason: string): void {
    this.#downReason = reason;
    this.#owner.down(reason);
  }
}
