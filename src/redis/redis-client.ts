import type { Redis } from 'ioredis';
import { type Endpoint, redisLabel } from './address.ts';
import { KEEP_ALIVE_MS, reasonOf, tlsOptions } from './dial.ts';
import { authFault, pingFault } from './login.ts';
import { ReplyFrames } from './reply-frames.ts';
import { type Bytes, MALFORMED } from './resp.ts';

/** Any reply: bytes, an integer as text, nil, or a list; in a list, a refusal is an `Error`. */
export type Reply = Buffer | string | null | readonly (Reply | Error)[];

/** The store cannot be reached or has not answered in time. A command that was sent may have been executed. */
export class RedisLost extends Error {}

/** The store refused a command; the message is that of the store. */
export class RedisRefused extends Error {}

interface ClientOptions {
  readonly connectTimeoutMs: number;
  /** Timeout of the login, after the connection was accepted; default: `connectTimeoutMs`. */
  readonly loginTimeoutMs?: number;
  /** Time for which a command may get no byte of a reply. If absent, commands wait until the client is closed. */
  readonly commandTimeoutMs?: number;
  /** The connection is closed when a reply is longer. */
  readonly maxReplyBytes: number;
  /** A store that loads its data, wants a login or has lost its primary counts as down. */
  readonly onlyReady?: boolean;
  /**
   * Returns the pause before an attempt to connect (from 1) after one that took `tookMs`. If absent, the connection is
   * opened once.
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
/** Total time for a reply whose bytes keep arriving in time. */
const LONGEST_REPLY_MS = 60_000;
/** Number of commands under way; those that timed out count until the connection is closed. */
const MAX_IN_FLIGHT = 1_000;
/** Counts as this many failures, so that a store that cannot serve yet is not asked again at once. */
const SOME_FAILURES = 3;

/** No command waits for a connection, and none is sent twice. */
const NOTHING_TWICE = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
} as const;
/**
 * Version 2 of the protocol, and integers as text. ioredis sends no commands of its own: if it cannot select the
 * database, it goes on in database 0.
 */
const PLAIN = { protocol: 2, stringNumbers: true, enableReadyCheck: false, disableClientInfo: true } as const;

/**
 * A connection of ioredis to Redis or Valkey, on which commands are promises. It is up after a reply to PING: being
 * accepted proves little, since the kernel also accepts connections for a process that hangs. While it is down,
 * commands are rejected at once.
 */
export class RedisClient {
  readonly label: string;
  isUp = false;
  /** The first attempt to connect has neither ended nor taken too long. */
  isNew = true;
  readonly #endpoint: Endpoint;
  readonly #options: ClientOptions;
  readonly #owner: ClientOwner;
  /** ioredis is loaded by the first client: a gateway without a cluster or a source in Redis does not need it. */
  readonly #loading: Promise<void>;
  #redis: Redis | undefined;
  /** Calls of `ready` that wait until the connection is up, or certainly not. */
  readonly #waiting = new Set<(fault?: RedisLost) => void>();
  /** Number of commands that ioredis expects replies to. */
  #inFlight = 0;
  /** Number of bytes received since the connection was first opened. */
  #receivedBytes = 0;
  /** The same number at the last call of `renew`. */
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
  /** Start of the silence: when the oldest pending command was sent, or the last reply came (`performance.now()`). */
  #silentSinceMs = 0;

  constructor(endpoint: Endpoint, options: ClientOptions, owner: ClientOwner = {}) {
    this.label = redisLabel(endpoint);
    this.#endpoint = endpoint;
    this.#options = options;
    this.#owner = owner;
    this.#loading = this.#open();
  }

  /**
   * Resolves when the connection is up. Rejects with `RedisLost` if the first attempt to connect fails or takes longer
   * than `withinMs`; at once if the connection was lost after that.
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

  /** Sends a command; the store may wait for `waitMs` before it replies. Rejects with `RedisLost` or `RedisRefused`. */
  ask(name: string, args: readonly Bytes[], waitMs = 0): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (!this.isUp) return reject(new RedisLost(this.#reason));
      if (this.#inFlight >= MAX_IN_FLIGHT) return reject(new RedisLost('too many commands wait'));
      const arrived = this.#expect(waitMs, (reason) => {
        reject(new RedisLost(reason));
        // The store sends no other reply either while a command waits.
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

  /** Closes the connection and opens it again after a longer pause, since the store cannot serve yet. */
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
    this.#login = undefined;
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
      // If ioredis sent SELECT itself, it would do so before the login.
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

  /** Checks the replies before ioredis decodes them. */
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

  /** Errors of the socket have a code. Others come from ioredis and may quote a reply. */
  #failed(error: NodeJS.ErrnoException): void {
    if (error.code === undefined) this.#drop(MALFORMED);
    // An error of the system has a number; this one is the timeout of ioredis, which includes the TLS handshake.
    else if (this.#endpoint.tls && error.code === 'ETIMEDOUT' && error.errno === undefined)
      this.#lost('no TLS connection in time');
    else this.#lost(reasonOf(error, this.#endpoint.tls && this.#login !== undefined && !this.isUp));
  }

  /** The first fault of an attempt is the reason. The owner is told once. */
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

  /** When the connection is closed, ioredis rejects the commands under way. */
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
   * Calls `late` when no byte has arrived for the time of a command; a large reply may take longer on a slow
   * connection. Returns the function that ends this.
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
