import {
  type Endpoint,
  RedisClient,
  RedisLost,
  RedisRefused,
  type Reply,
  replyTooLarge,
} from '../../../../redis/index.ts';
import { StoreLost, StoreRefused } from '../../store.ts';
import { UnexpectedReply } from '../redis-replies.ts';
import { type Command, type Commands, runScript, type ScriptCall } from './commands.ts';
import { pauseMs } from './search.ts';

interface StoreConnectionOptions {
  readonly endpoint: Endpoint;
  readonly timeoutMs: number;
}

interface StoreConnectionOwner {
  up?(): void;
  down?(reason: string): void;
}

const MAX_REPLY_BYTES = 16_777_216;
const TOO_LARGE = replyTooLarge(MAX_REPLY_BYTES);
/** A handshake takes longer than a command. */
const MIN_CONNECT_MS = 1_000;
/** A store that hangs is found again at once when it goes on, since an attempt to connect waits for it. */
const LOGIN_MS = 5_000;
/** Errors of a store that is not the one to ask, or not yet: after a failover the address leads to another one. */
const NOT_SERVING = /^(?:READONLY|LOADING|MASTERDOWN|UNBLOCKED)\b/;

/** Tells whether a call failed because its reply exceeds the limit. The connection was dropped for that. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof StoreLost && error.message === TOO_LARGE;
}

/** One connection to the store. Rejects at once while it is down. */
export class StoreConnection implements Commands {
  readonly #client: RedisClient;
  readonly #connectMs: number;

  constructor({ endpoint, timeoutMs }: StoreConnectionOptions, owner: StoreConnectionOwner = {}) {
    this.#connectMs = Math.max(timeoutMs, MIN_CONNECT_MS);
    const options = {
      connectTimeoutMs: this.#connectMs,
      loginTimeoutMs: Math.max(LOGIN_MS, this.#connectMs),
      commandTimeoutMs: timeoutMs,
      maxReplyBytes: MAX_REPLY_BYTES,
      onlyReady: true,
      pauseMs,
    };
    this.#client = new RedisClient(endpoint, options, owner);
  }

  get isUp(): boolean {
    return this.#client.isUp;
  }

  /** No attempt to connect has ended yet, nor taken too long. */
  get isNew(): boolean {
    return this.#client.isNew;
  }

  /**
   * Resolves when it is up. Rejects with `StoreLost` if the first attempt to connect fails, or takes longer than `timeoutMs`, which
   * is a second at least; and at once if it was lost since.
   */
  async ready(): Promise<void> {
    try {
      await this.#client.ready(this.#connectMs);
    } catch (error) {
      throw new StoreLost((error as RedisLost).message);
    }
  }

  /**
   * Sends a command and gives what `read` makes of its reply. Rejects with `StoreLost` or `StoreRefused`. With `isAsking`, a server
   * that is only getting the slot of the key takes it.
   */
  async ask<T>({ name, args, waitMs }: Command, read: (reply: Reply) => T, isAsking = false): Promise<T> {
    try {
      // If this is refused, so is the command.
      if (isAsking) this.#client.ask('asking', []).catch(() => undefined);
      return read(await this.#client.ask(name, args, waitMs));
    } catch (error) {
      throw this.#faultOf(error, name);
    }
  }

  run<T>(call: ScriptCall, read: (reply: Reply) => T): Promise<T> {
    return runScript(this, call, read);
  }

  /** Closes the connection and opens it again after a while: the server is not the one to ask. */
  standBack(reason: string): void {
    this.#client.standBack(reason);
  }

  /** Closes the connection and opens it again. */
  drop(reason: string): void {
    this.#client.drop(reason);
  }

  /** Closes the connection and opens it again, unless a reply is arriving on it. */
  renew(reason: string): void {
    this.#client.renew(reason);
  }

  close(): void {
    this.#client.close();
  }

  #faultOf(error: unknown, name: string): Error {
    if (error instanceof RedisLost) return new StoreLost(error.message);
    if (error instanceof RedisRefused) {
      const refusal = refusalOf(error);
      if (NOT_SERVING.test(refusal)) this.standBack(refusal);
      return new StoreRefused(refusal);
    }
    if (!(error instanceof UnexpectedReply)) return error as Error;
    const reason = `a reply that is none to "${name}"`;
    this.drop(reason);
    return new StoreLost(reason);
  }
}

/** Gives the message of a refusal without what Redis 6 puts in front of the error of a script and Redis 7 behind it. */
function refusalOf({ message }: RedisRefused): string {
  const [, inScript = message] = /^ERR Error running script \(.*?: -([A-Z]+ .*)$/.exec(message) ?? [];
  // A store that does not know a command repeats what was sent.
  return inScript.replace(/(?: script: [0-9a-f]{40}, on @.*|,? with args beginning with.*)$/, '');
}
