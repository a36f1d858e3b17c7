import type { Reply } from '../../../../redis/index.ts';
import { type Command, type Commands, runScript, type ScriptCall } from './commands.ts';
import { askFollowing, type Route, type Target } from './redirections.ts';
import type { StoreConnection } from './store-connection.ts';

interface SlotReaderParts {
  readonly timeoutMs: number;
  /** Where the slot is, by the map of all. */
  readonly start: () => Target;
  readonly open: (target: Target) => StoreConnection;
  readonly redirected: (target: Target) => void;
}

/** A connection of its own on which commands about the keys of one slot can wait. It goes where the slot goes. */
export class SlotReader implements Commands, Route {
  readonly #parts: SlotReaderParts;
  #open: { readonly label: string; readonly connection: StoreConnection } | undefined;
  /** Where a server has sent it. That holds until its connection is lost: the map may be older, or newer. */
  #redirected: Target | undefined;

  constructor(parts: SlotReaderParts) {
    this.#parts = parts;
  }

  async ask<T>(command: Command, read: (reply: Reply) => T): Promise<T> {
    if (this.#open?.connection.isUp === false) this.#redirected = undefined;
    return askFollowing(this, { command, timeoutMs: this.#parts.timeoutMs }, read);
  }

  run<T>(call: ScriptCall, read: (reply: Reply) => T): Promise<T> {
    return runScript(this, call, read);
  }

  start(): Target {
    return this.#redirected ?? this.#parts.start();
  }

  connectionTo(target: Target): StoreConnection {
    const label = `${target.address.host}:${target.address.port}`;
    if (this.#open?.label !== label) {
      this.close();
      this.#open = { label, connection: this.#parts.open(target) };
    }
    return this.#open.connection;
  }

  redirected(target: Target): void {
    this.#redirected = target;
    this.#parts.redirected(target);
  }

  renew(reason: string): void {
    this.#open?.connection.renew(reason);
  }

  close(): void {
    this.#open?.connection.close();
    this.#open = undefined;
  }
}
