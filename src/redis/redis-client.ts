import type { Redis } from 'ioredis';
import { type Endpoint, redisLabel } from './address.ts';
import { KEEP_ALIVE_MS, tlsOptions } from './dial.ts';
import { authFault, pingFault, reasonOf } from './login.ts';
import { ReplyFrames } from './reply-frames.ts';
import { type Bytes, MALFORMED } from './resp.ts';

/** Any reply: bytes, an integer as text, nil, or a list; in a list, a refusal is an `Error`. */
export type Reply = Buffer | string | null | readonly (Reply | Error)[];

/** The store cannot be asked or has not answered in time. What was sent may have been executed. */
export class RedisLost extends Error {}

/** The store refused a command; the message is its own. */
export class RedisRefused extends Error {}

interface ClientOptions {
  readonly connectTimeoutMs: number;
  /** How long a connection that was accepted may be without a reply; default: `connectTimeoutMs`. */
  readonly loginTimeoutMs?: number;
  /** How long a command may be without any byte of a reply. Without it, those who ask wait until they close the client. */
  readonly commandTimeoutMs?: number;
  /** The connection is closed instead of reading a longer reply. */
  readonly maxReplyBytes: number;
  /** A store that loads its data, wants a login or has lost its primary counts as down. */
  readonly onlyReady?: boolean;
  /**
   * The pause before an attempt to connect, from 1, if the one before took `tookMs`. Without it, a connection is not opened again.
   */
  readonly pauseMs?: (attempt: number, tookMs: number) => number;
}

interface ClientOwner {
  /** The connection has been established, or established again. */
  up?(): void;
  /** An attempt to connect failed, or the connection was lost. */
  down?(reason: string): void;
}

/** Number of successive timeouts after which a connection is closed. */
const MAX_TIMEOUTS = 3;
const MAX_SILENCE_MS = 2_000;
/** A reply of which some always arrives in time may take so long in all. */
const LONGEST_REPLY_MS = 60_000;
/** Commands that timed out count until the connection is closed. */
const MAX_IN_FLIGHT = 1_000;
/** As many failures make an interval that spares a store which has other things to do. */
const SOME_FAILURES = 3;

/** Nothing is queued, and nothing is sent twice. */
const NOTHING_TWICE = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
} as const;
/**
 * Version 2 of the protocol, integers as text, and no commands of ioredis' own: its login goes on in database 0 if another one is
 * refused.
 */
const PLAIN = { protocol: 2, stringNumbers: true, enableReadyCheck: false, disableClientInfo: true } as const;

/**
 * A connection of ioredis to Redis or Valkey, on which commands are promises. It counts as up after a reply to PING: that it was
 * accepted proves little, since the kernel also accepts for a server that hangs. While it is down, commands are rejected at once.
 */
export class RedisClient {
  readonly label: string;
  isUp = false;
  /** No attempt to connect has ended yet, nor taken too long. */
  isNew = true;
  readonly #endpoint: Endpoint;
  readonly #options: ClientOptions;
  readonly #owner: ClientOwner;
  /** ioredis is loaded by the first client: a gateway without a cluster or a source in Redis does not need it. */
  readonly #loading: Promise<void>;
  #redis: Redis | undefined;
  /** Those who wait until it is up, or until it is certain that it is not. */
  readonly #waiting = new Set<(fault?: RedisLost) => void>();
  /** Number of commands that ioredis expects replies to. */
  #inFlight = 0;
  /** How much has arrived since the connection was first opened. */
  #receivedBytes = 0;
  /** What had arrived when it was to be opened again last. */
  #renewedAtBytes = 0;
  #frames: ReplyFrames | undefined;
  #reason = 'not connected yet';
  #lastReason: string | undefined;
  #isClosed = false;
  /** True from the start of an attempt to connect until it fails or the connection is lost. */
  #isLive = false;
  #beganMs = 0;
  /** Failed attempts to connect since it was up. */
  #failures = 0;
  #login: NodeJS.Timeout | undefined;
  #timeouts = 0;
  /** Since when the store is silent: when the oldest pending command was sent, or the last reply came (`performance.now()`). */
  #silentSinceMs = 0;

  constructor(endpoint: Endpoint, options: ClientOptions, owner: ClientOwner = {}) {
    this.label = redisLabel(endpoint);
    this.#endpoint = endpoint;
    this.#options = options;
    this.#owner = owner;
    this.#loading = this.#open();
  }

  /**
   * Resolves when it is up. Rejects with `RedisLost` if the first attempt to connect fails, or takes longer than `withinMs`; and at
   * once if it was lost since.
   */
  async ready(withinMs?: number): Promise<void> {
    await this.#loading;
    if (this.isUp) return;
    if (!this.isNew) throw new RedisLost(this.#reason);
    await new Promise<void>((resolve, reject) => {
      const late = (): void => {
        this.isNew = false;
        settle(new RedisLost(`not connected within ${withinMs} ms`));
      };
      const timer = withinMs === undefined ? undefined : setTimeout(late, withinMs);
      const settle = (fault?: RedisLost): void => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        if (fault) reject(fault);
        else resolve();
      };
      this.#waiting.add(settle);
    });
  }

  /** Sends a command, which the store may hold back for `waitMs`. Rejects with `RedisLost` or `RedisRefused`. */
  ask(name: string, args: readonly Bytes[], waitMs = 0): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (!this.isUp) return reject(new RedisLost(this.#reason));
      if (this.#inFlight >= MAX_IN_FLIGHT) return reject(new RedisLost('too many commands wait'));
      const arrived = this.#expect(waitMs, (reason) => {
        reject(new RedisLost(reason));
        // A store that holds a command back sends nothing else either.
        if (waitMs > 0) this.drop(reason);
        else this.#timedOut();
      });
      void this.#send(name, args).then(resolve, reject).finally(arrived);
    });
  }

  /** Closes the connection at once and opens it again. */
  drop(reason: string): void {
    if (this.isUp) this.#drop(reason);
  }

  /** Closes the connection and opens it again after an interval: the store cannot serve yet. */
  standBack(reason: string): void {
    if (this.isUp) this.#failures = SOME_FAILURES;
    this.drop(reason);
  }

  /** Closes the connection and opens it again, unless a reply is arriving on it. */
  renew(reason: string): void {
    const isArriving = this.#frames?.isWithinReply === true && this.#receivedBytes > this.#renewedAtBytes;
    this.#renewedAtBytes = this.#receivedBytes;
    if (!isArriving) this.drop(reason);
  }

  close(reason = 'closed'): void {
    this.#isClosed = true;
    this.#lost(reason);
    this.#reason = reason;
    this.#settleWaiting(new RedisLost(reason));
    this.#redis?.disconnect();
  }

  async #open(): Promise<void> {
    const { default: ioredis } = await import('ioredis');
    if (this.#isClosed) return;
    const { tls } = this.#endpoint;
    this.#redis = new ioredis.Redis({
      ...addressOf(this.#endpoint),
      ...(tls && { tls: tlsOptions(this.#endpoint) }),
      ...NOTHING_TWICE,
      ...PLAIN,
      connectTimeout: this.#options.connectTimeoutMs,
      disconnectTimeout: 0,
      keepAlive: KEEP_ALIVE_MS,
      retryStrategy: () => this.#retryMs(),
    })
      .on('connecting', () => this.#begin())
      .on('ready', () => void this.#logIn())
      .on('error', (error: NodeJS.ErrnoException) => this.#failed(error))
      .on('close', () => this.#lost('connection closed'));
  }

  #retryMs(): number | null {
    const { pauseMs } = this.#options;
    if (this.#isClosed || !pauseMs) return null;
    return pauseMs(++this.#failures, performance.now() - this.#beganMs);
  }

  #begin(): void {
    this.#isLive = true;
    this.#beganMs = performance.now();
  }

  async #logIn(): Promise<void> {
    if (!this.#isLive) return;
    this.#watch();
    const { connectTimeoutMs, loginTimeoutMs = connectTimeoutMs, onlyReady } = this.#options;
    this.#login = setTimeout(() => this.#drop('it accepts connections but does not answer'), loginTimeoutMs);
    const { username, password, db } = this.#endpoint;
    const none = (): undefined => undefined;
    const login = username ? [username, password ?? ''] : [password ?? ''];
    const faults = await Promise.all([
      password
        ? this.#send('auth', login).then(none, ({ message }: Error) => authFault(message, password))
        : undefined,
      // ioredis would repeat "select" by itself, in front of the login.
      db ? this.#send('SELECT', [String(db)]).then(none, ({ message }: Error) => message) : undefined,
      this.#send('ping', []).then(
        (reply) => pingFault(reply, undefined),
        ({ message }: Error) => pingFault(undefined, message, onlyReady),
      ),
    ]);
    const fault = faults.find((one) => one !== undefined);
    if (fault !== undefined) this.#drop(fault);
    else if (this.#isLive) this.#goUp();
  }

  /** Follows the replies before ioredis decodes them. */
  #watch(): void {
    const { stream } = this.#redis as Redis;
    const [decode] = stream.listeners('data') as ((chunk: Buffer) => void)[];
    const frames = (this.#frames = new ReplyFrames(this.#options.maxReplyBytes));
    stream.removeAllListeners('data').on('data', (chunk: Buffer) => {
      if (!this.#isLive) return;
      this.#receivedBytes += chunk.length;
      const replies = frames.follow(chunk);
      if (typeof replies === 'string') this.#drop(replies);
      else if (replies > this.#inFlight) this.#drop('a reply that nobody asked for');
      else decode?.(chunk);
    });
  }

  #goUp(): void {
    clearTimeout(this.#login);
    this.isUp = true;
    this.#failures = this.#timeouts = 0;
    this.#lastReason = undefined;
    this.#settleWaiting();
    this.#owner.up?.();
  }

  #drop(reason: string): void {
    if (!this.#isLive) return;
    this.#lost(reason);
    this.#redis?.disconnect(true);
  }

  /** Those of sockets have a code; the others are of ioredis and may quote a reply. */
  #failed(error: NodeJS.ErrnoException): void {
    if (error.code === undefined) this.#drop(MALFORMED);
    else this.#lost(reasonOf(error));
  }

  /** The first fault is the reason; the owner is told of it once. */
  #lost(reason: string): void {
    if (!this.#isLive) return;
    this.#isLive = false;
    clearTimeout(this.#login);
    const isNews = this.isUp || reason !== this.#lastReason;
    this.isUp = false;
    this.#reason = this.#lastReason = reason;
    this.#settleWaiting(new RedisLost(reason));
    if (isNews && !this.#isClosed) this.#owner.down?.(reason);
  }

  #settleWaiting(fault?: RedisLost): void {
    this.isNew = false;
    for (const settle of this.#waiting) settle(fault);
  }

  /** ioredis rejects what is in flight when the connection is closed. */
  async #send(name: string, args: readonly Bytes[]): Promise<Reply> {
    if (this.#inFlight++ === 0) this.#silentSinceMs = performance.now();
    try {
      return (await (this.#redis as Redis).callBuffer(name, [...args])) as Reply;
    } catch (error) {
      const { name: kind, message } = error as Error;
      throw kind === 'ReplyError' ? new RedisRefused(message) : new RedisLost(this.#reason);
    } finally {
      this.#inFlight -= 1;
      this.#timeouts = 0;
      this.#silentSinceMs = performance.now();
    }
  }

  /**
   * Calls `late` once nothing has arrived for the time of a command: a large reply takes longer on a slow line. Returns the function
   * that ends it.
   */
  #expect(waitMs: number, late: (reason: string) => void): () => void {
    const { commandTimeoutMs } = this.#options;
    if (commandTimeoutMs === undefined) return () => undefined;
    const lastMs = performance.now() + waitMs + LONGEST_REPLY_MS;
    let receivedBytes = this.#receivedBytes;
    const check = (): void => {
      const isArriving = this.#receivedBytes > receivedBytes && performance.now() < lastMs;
      receivedBytes = this.#receivedBytes;
      if (isArriving) timer = setTimeout(check, commandTimeoutMs);
      else late(`no reply within ${commandTimeoutMs} ms`);
    };
    let timer = setTimeout(check, commandTimeoutMs + waitMs);
    return () => clearTimeout(timer);
  }

  /** A command got no reply in time. The connection is kept while other commands get theirs. */
  #timedOut(): void {
    this.#timeouts += 1;
    const silentMs = performance.now() - this.#silentSinceMs;
    if (this.#timeouts >= MAX_TIMEOUTS) this.drop(`${MAX_TIMEOUTS} timeouts in a row`);
    else if (silentMs >= MAX_SILENCE_MS) this.drop(`silent for ${Math.round(silentMs)} ms`);
  }
}

function addressOf(endpoint: Endpoint): { path: string } | { host: string; port: number } {
  return endpoint.kind === 'unix' ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port };
}
