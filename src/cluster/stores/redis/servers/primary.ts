import type { Endpoint } from '../../../../redis/index.ts';
import { type StoreOwner, StoreRefused } from '../../store.ts';
import type { Commands } from './commands.ts';
import { StoreConnection } from './store-connection.ts';

interface PrimaryOptions {
  readonly endpoint: Endpoint;
  readonly timeoutMs: number;
  /** Gives the reason why a server cannot be written to, if there is one that its refusals do not tell. Rejects as they do. */
  readonly probe: (commands: Commands) => Promise<string | undefined>;
}

/** The connection that writes to a server. It is up when the server answers, and may be written to. */
export class Primary {
  readonly connection: StoreConnection;
  readonly #probing: PrimaryOptions['probe'];
  readonly #owner: StoreOwner;
  /** Undefined for up, else why it is down. */
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

  /** Why it is down; empty before that is known. */
  get reason(): string {
    return this.#downReason ?? '';
  }

  async #probe(): Promise<void> {
    const { connection } = this;
    try {
      const reason = await this.#probing(connection);
      if (reason !== undefined) connection.standBack(reason);
    } catch (error) {
      // Other refusals are those of a store that answers; who sends a command gets them.
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
