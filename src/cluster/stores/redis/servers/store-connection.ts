import {
  type ConnectionOwner,
  type Endpoint,
  RedisConnection,
  type Reply,
  ReplyError,
  replyTooLarge,
  type Request,
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
  /** Receives messages of subscriptions. */
  readonly unasked?: (message: Reply | ReplyError) => void;
}

const MAX_REPLY_BYTES = 16_777_216;
const TOO_LARGE = replyTooLarge(MAX_REPLY_BYTES);
/** A handshake takes longer than a command. */
const MIN_CONNECT_MS = 1_000;
/** A store that hangs is found again at once when it goes on, since an attempt to connect waits for it. */
const LOGIN_MS = 5_000;
/** A reply of which some always arrives in time may take so long in all. */
const LONGEST_REPLY_MS = 60_000;
/** Commands that timed out count until the connection is given up. */
const MAX_IN_FLIGHT = 1_000;
/** Errors of a store that is not the one to ask, or not yet: after a failover the address leads to another one. */
const NOT_SERVING = /^(?:READONLY|LOADING|MASTERDOWN|UNBLOCKED)\b/;

/** Says that the next command is for a slot that the server is getting; if it is refused, so is that command. */
const asking = (): Request => ({
  name: 'asking',
  args: [],
  next: undefined,
  failed: () => undefined,
  unsent: () => undefined,
  replied: () => undefined,
});

/** Tells whether a call failed because its reply exceeds the limit. The connection was dropped for that. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof StoreLost && error.message === TOO_LARGE;
}

/** One connection to the store, on which commands are promises. Rejects at once while it is down. */
export class StoreConnection implements Commands {
  readonly #connection: RedisConnection;
  readonly #timeoutMs: number;
  readonly #connectMs: number;
  /** Those who wait until it is up, or until it is certain that it is not. */
  readonly #waiting = new Set<(fault?: StoreLost) => void>();
  /** What had arrived when it was to be opened again last. */
  #renewedAtBytes = 0;
  #reason = 'not connected yet';
  /** No attempt to connect has ended yet, nor taken too long. */
  isNew = true;

  constructor({ endpoint, timeoutMs }: StoreConnectionOptions, owner: StoreConnectionOwner = {}) {
    this.#timeoutMs = timeoutMs;
    this.#connectMs = Math.max(timeoutMs, MIN_CONNECT_MS);
    const events: ConnectionOwner = {
      up: () => {
        this.#settle();
        owner.up?.();
      },
      down: (_, reason) => {
        this.#reason = reason;
        this.#settle(new StoreLost(reason));
        owner.down?.(reason);
      },
      ...(owner.unasked && { unasked: owner.unasked }),
    };
    const options = {
      clock: { nowMs: () => performance.now() },
      connectTimeoutMs: this.#connectMs,
      loginTimeoutMs: Math.max(LOGIN_MS, this.#connectMs),
      pauseMs,
      maxReplyBytes: MAX_REPLY_BYTES,
      nested: true,
      onlyReady: true,
    };
    this.#connection = new RedisConnection(endpoint, options, events);
  }

  get isUp(): boolean {
    return this.#connection.up;
  }

  /**
   * Resolves when it is up. Rejects with `StoreLost` if the first attempt to connect fails, or takes longer than `timeoutMs`, which
   * is a second at least; and at once if it was lost since.
   */
  ready(): Promise<void> {
    if (this.isUp) return Promise.resolve();
    if (!this.isNew) return Promise.reject(new StoreLost(this.#reason));
    return new Promise((resolve, reject) => {
      const late = new StoreLost(`not connected within ${this.#connectMs} ms`);
      const timer = setTimeout(() => {
        this.isNew = false;
        settle(late);
      }, this.#connectMs);
      const settle = (fault?: StoreLost): void => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        if (fault) reject(fault);
        else resolve();
      };
      this.#waiting.add(settle);
    });
  }

  /**
   * Sends a command and gives what `read` makes of its reply. Rejects with `StoreLost` or `StoreRefused`. With `isAsking`, a server
   * that is only getting the slot of the key takes it.
   */
  ask<T>({ name, args, waitMs = 0 }: Command, read: (reply: Reply) => T, isAsking = false): Promise<T> {
    const connection = this.#connection;
    return new Promise((resolve, reject) => {
      if (!connection.up) return reject(new StoreLost(this.#reason));
      if (connection.inFlight >= MAX_IN_FLIGHT) return reject(new StoreLost('too many commands wait'));
      if (isAsking) connection.send(asking());
      const lost = (reason: string): void => {
        expected();
        reject(new StoreLost(reason));
      };
      const expected = this.#expect(waitMs, () => this.#late(waitMs, lost));
      connection.send({
        name,
        args,
        next: undefined,
        failed: lost,
        unsent: lost,
        replied: (reply) => {
          expected();
          try {
            resolve(read(this.#accepted(reply)));
          } catch (error) {
            reject(this.#faultOf(error, name));
          }
        },
      });
    });
  }

  run<T>(call: ScriptCall, read: (reply: Reply) => T): Promise<T> {
    return runScript(this, call, read);
  }

  /** Closes the connection and opens it again after a while: the server is not the one to ask. */
  standBack(reason: string): void {
    if (this.isUp) this.#connection.standBack(reason);
  }

  /** Closes the connection and opens it again. */
  drop(reason: string): void {
    if (this.isUp) this.#connection.drop(reason);
  }

  /** Closes the connection and opens it again, unless a reply is arriving on it. */
  renew(reason: string): void {
    const { isWithinReply, receivedBytes } = this.#connection;
    const isArriving = isWithinReply && receivedBytes > this.#renewedAtBytes;
    this.#renewedAtBytes = receivedBytes;
    if (!isArriving) this.drop(reason);
  }

  close(): void {
    this.#reason = 'closed';
    this.#connection.close();
    this.#settle(new StoreLost(this.#reason));
  }

  #settle(fault?: StoreLost): void {
    this.isNew = false;
    for (const settle of this.#waiting) settle(fault);
  }

  /**
   * Calls `late` once nothing has arrived for the time of a command: a large reply takes longer on a slow line. Returns the function
   * that ends it.
   */
  #expect(waitMs: number, late: () => void): () => void {
    const lastMs = performance.now() + waitMs + LONGEST_REPLY_MS;
    let { receivedBytes } = this.#connection;
    const check = (): void => {
      const isArriving = this.#connection.receivedBytes > receivedBytes && performance.now() < lastMs;
      ({ receivedBytes } = this.#connection);
      if (isArriving) timer = setTimeout(check, this.#timeoutMs);
      else late();
    };
    let timer = setTimeout(check, this.#timeoutMs + waitMs);
    return () => clearTimeout(timer);
  }

  #late(waitMs: number, lost: (reason: string) => void): void {
    const reason = `no reply within ${this.#timeoutMs} ms`;
    lost(reason);
    // A store that holds a command back sends nothing else either.
    if (waitMs > 0) this.#connection.giveUp(reason);
    else this.#connection.timedOut();
  }

  #accepted(reply: Reply | ReplyError): Reply {
    if (!(reply instanceof ReplyError)) return reply;
    const refusal = refusalOf(reply);
    if (NOT_SERVING.test(refusal)) this.#connection.standBack(refusal);
    throw new StoreRefused(refusal);
  }

  #faultOf(error: unknown, name: string): Error {
    if (!(error instanceof UnexpectedReply)) return error as Error;
    const reason = `a reply that is none to "${name}"`;
    this.#connection.drop(reason);
    return new StoreLost(reason);
  }
}

/** Gives the message of a refusal without what Redis 6 puts in front of the error of a script and Redis 7 behind it. */
function refusalOf({ message }: ReplyError): string {
  const [, inScript = message] = /^ERR Error running script \(.*?: -([A-Z]+ .*)$/.exec(message) ?? [];
  // A store that does not know a command repeats what was sent.
  return inScript.replace(/(?: script: [0-9a-f]{40}, on @.*|,? with args beginning with.*)$/, '');
}
