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
/** Timeout of the login. An attempt to connect to a store that hangs waits, and succeeds as soon as it goes on. */
const LOGIN_MS = 5_000;
/** Errors of a server that does not take commands, or not yet. After a failover, the address leads to another. */
const NOT_SERVING = /^(?:READONLY|LOADING|MASTERDOWN|UNBLOCKED)\b/;

/** Returns whether a call failed because its reply exceeds the limit, for which the connection was dropped. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof StoreLost && error.message === TOO_LARGE;
}

/** One connection to the store. Its calls reject at once while it is down. */
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

  /** The first attempt to connect has neither ended nor taken too long. */
  get isNew(): boolean {
    return this.#client.isNew;
  }

  /**
   * Resolves when it is up. Rejects with `StoreLost` if the first attempt to connect fails or takes longer than
   * `timeoutMs` (at least a second); at once if the connection was lost after that.
   */
  async ready(): Promise<void> {
    try {
      await this.#client.ready(this.#connectMs);
    } catch (error) {
      throw new StoreLost((error as RedisLost).message);
    }
  }

  /**
   * Sends a command and returns what `read` makes of its reply. Rejects with `StoreLost` or `StoreRefused`. With
   * `isAsking`, ASKING comes first, so that a server that is receiving the slot of the key takes the command.
   */
  async ask<T>({ name, args, waitMs }: Command, read: (reply: Reply) => T, isAsking = false): Promise<T> {
    try {
      // If ASKING is refused, the command is, too.
      if (isAsking) this.#client.ask('asking', []).catch(() => undefined);
      return read(await this.#client.ask(name, args, waitMs));
    } catch (error) {
      throw this.#faultOf(error, name);
    }
  }

  run<T>(call: ScriptCall, read: (reply: Reply) => T): Promise<T> {
    return runScript(this, call, read);
  }

  /** Closes the connection and opens it again after a while, since the server does not serve now. */
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
    const reason = `an unexpected reply to "${name}"`;
    this.drop(reason);
    return new StoreLost(reason);
  }
}

/** Returns the message of a refusal without what Redis 6 puts before, and Redis 7 after, the error of a script. */
function refusalOf({ message }: RedisRefused): string {
  const [, inScript = message] = /^ERR Error running script \(.*?: -([A-Z]+ .*)$/.exec(message) ?? [];
  // A store repeats a command that it does not know, which may contain secrets.
  return inScript.replace(/(?: script: [0-9a-f]{40}, on @.*|,? with args beginning with.*)$/, '');
}
