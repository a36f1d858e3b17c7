import type { Socket } from 'node:net';
import { type Endpoint, redisLabel } from './address.ts';
import { dial, NO_HANDSHAKE, reasonOf } from './dial.ts';
import { authFault, pingFault } from './login.ts';
import { type Bytes, type FlatReply, type Push, ReplyError, RespReader, RespWriter } from './resp.ts';

/**
 * Returns the pause before an attempt to connect (from 1). A broken connection is restored at once; failed attempts are
 * repeated at growing intervals.
 */
const pauseMs = (attempt: number): number => Math.min(50 * (attempt - 1), 500);

interface ConnectionOptions {
  /** Returns the time of `performance.now()`, perhaps as of the last turn of the event loop. */
  readonly clock: { nowMs(): number };
  readonly connectTimeoutMs: number;
  /** The connection is closed when a reply is longer. */
  readonly maxReplyBytes: number;
}

/** Receives the events of a connection. */
export interface ConnectionOwner {
  /** The connection has been established, or established again. */
  up(connection: RedisConnection): void;
  /** An attempt to connect failed, or the connection broke. It reconnects by itself. */
  down(connection: RedisConnection, reason: string): void;
  /** Receives replies that no command asked for, such as messages of RESP2 subscriptions. If absent: faults. */
  unasked?(reply: FlatReply | ReplyError): void;
  /** Receives messages that no command asked for. If present, the connection also understands RESP3. */
  pushed?(push: Push): void;
}

/** A command and the receiver of its reply: exactly one of `replied`, `failed` and `unsent` is called, once. */
export interface Request {
  readonly name: string;
  readonly args: readonly Bytes[];
  replied(reply: FlatReply | ReplyError, connection: RedisConnection): void;
  /** The connection broke; the command may have been executed. */
  failed(reason: string): void;
  /** The connection broke before the command was written. */
  unsent(reason: string): void;
  /** The next request on the same connection; used by the connection only. */
  next: Request | undefined;
}

/** Number of successive timeouts after which a connection is closed. */
const MAX_TIMEOUTS = 3;
const MAX_SILENCE_MS = 2_000;

/**
 * One connection to Redis or Valkey, which always reconnects. It is up after a reply to PING: being accepted proves
 * little, since the kernel also accepts connections for a process that hangs. No command waits for a connection, and
 * none is sent twice. Replies come in the order of the requests.
 */
export class RedisConnection {
  readonly label: string;
  up = false;
  /**
   * True until the first attempt to connect has ended, and for a while after the connection broke: waiting may help.
   * False after the connection was closed because of silence.
   */
  opening = true;
  inFlight = 0;
  readonly #endpoint: Endpoint;
  readonly #options: ConnectionOptions;
  readonly #owner: ConnectionOwner;
  #socket: Socket | undefined;
  /** Failed attempts to connect since it was up. */
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;
  /** True from the start of an attempt to connect until it fails or the connection breaks. */
  #live = true;
  #lastReason: string | undefined;
  #probe: NodeJS.Timeout | undefined;
  /** Limits how long `opening` stays true after the connection broke. */
  #patience: NodeJS.Timeout | undefined;
  readonly #writer = new RespWriter();
  #flushes = false;
  /** The requests that wait for their replies. */
  #oldest: Request | undefined;
  #newest: Request | undefined;
  /** The first request that has not been written yet. */
  #unwritten: Request | undefined;
  #timeouts = 0;
  /** Start of the silence: when the oldest pending command was sent, or the last reply came (`performance.now()`). */
  #silentSinceMs = 0;

  constructor(endpoint: Endpoint, options: ConnectionOptions, owner: ConnectionOwner) {
    this.label = redisLabel(endpoint);
    this.#endpoint = endpoint;
    this.#options = options;
    this.#owner = owner;
    this.#connect();
  }

  /** Sends a command; only after `up`. All commands of one turn of the event loop are written together. */
  send(request: Request): void {
    if (this.inFlight++ === 0) {
      this.#silentSinceMs = this.#options.clock.nowMs();
      this.#oldest = request;
    } else (this.#newest as Request).next = request;
    this.#newest = request;
    this.#unwritten ??= request;
    this.#writer.add(request.name, request.args);
    if (this.#flushes) return;
    this.#flushes = true;
    setImmediate(this.#flush);
  }

  /** To be called if a command got no reply in time. The connection is kept while other commands get theirs. */
  timedOut(): void {
    this.#timeouts++;
    const silentMs = performance.now() - this.#silentSinceMs;
    if (this.#timeouts >= MAX_TIMEOUTS) this.giveUp(`${MAX_TIMEOUTS} timeouts in a row`);
    else if (silentMs >= MAX_SILENCE_MS) this.giveUp(`silent for ${Math.round(silentMs)} ms`);
  }

  /** Closes the connection at once and reconnects. */
  drop(reason: string): void {
    this.#lost(reason);
    this.#socket?.destroy();
  }

  /** Closes the connection as `drop` does, but `opening` stays false: the store may hang. */
  giveUp(reason: string): void {
    this.#lost(reason, true);
    this.#socket?.destroy();
  }

  close(): void {
    this.#closed = true;
    this.up = this.opening = false;
    clearTimeout(this.#probe);
    clearTimeout(this.#patience);
    clearTimeout(this.#retry);
    this.#socket?.destroy();
  }

  readonly #connect = (): void => {
    this.#live = true;
    const { connectTimeoutMs, maxReplyBytes } = this.#options;
    const owner = this.#owner;
    const pushed = owner.pushed && ((push: Push) => owner.pushed?.(push));
    const reader = new RespReader(maxReplyBytes, this.#replied, { pushed });
    this.#within(connectTimeoutMs, () => (socket.connecting ? 'connect ETIMEDOUT' : NO_HANDSHAKE));
    let isSecure = false;
    const socket = dial(this.#endpoint, () => {
      isSecure = this.#endpoint.tls === true;
      this.#logIn();
    })
      .on('data', (chunk) => {
        const fault = reader.read(chunk);
        if (fault !== undefined) this.drop(fault);
      })
      .on('error', (error) => this.drop(reasonOf(error, isSecure && !this.up)))
      .on('close', () => {
        this.#lost('connection closed');
        if (!this.#closed) this.#retry = setTimeout(this.#connect, pauseMs(++this.#failures));
      });
    this.#socket = socket;
  };

  /** Logs in. If the login is refused, the commands after it fail. */
  #logIn(): void {
    this.#within(this.#options.connectTimeoutMs, () => 'it accepts connections but does not answer');
    const { username, password, db } = this.#endpoint;
    if (password)
      this.#ask('auth', username ? [username, password] : [password], (reply) =>
        reply instanceof ReplyError ? authFault(reply.message, password) : undefined,
      );
    if (db) this.#ask('select', [String(db)], errorOf);
    this.#ask('ping', [], (reply) => pingFault(reply, errorOf(reply)) ?? this.#isUp());
  }

  /** The first fault is the reason; the owner is notified once per attempt. */
  #lost(reason: string, silent = false): void {
    if (!this.#live) return;
    this.#live = false;
    clearTimeout(this.#probe);
    this.#writer.clear();
    const wasUp = this.up;
    const isNews = wasUp || this.opening || reason !== this.#lastReason;
    this.up = false;
    this.opening = wasUp && !silent && !this.#closed;
    clearTimeout(this.#patience);
    if (this.opening) this.#patience = setTimeout(this.#runOut, this.#options.connectTimeoutMs);
    if (isNews && !this.#closed) {
      this.#lastReason = reason;
      this.#owner.down(this, reason);
    }
    const unwritten = this.#unwritten;
    this.#unwritten = undefined;
    while (this.#oldest && this.#oldest !== unwritten) this.#shift(this.#oldest).failed(reason);
    while (this.#oldest) this.#shift(this.#oldest).unsent(reason);
  }

  readonly #runOut = (): void => this.drop(`not back within ${this.#options.connectTimeoutMs} ms`);

  #shift(request: Request): Request {
    this.#oldest = request.next;
    if (!this.#oldest) this.#newest = undefined;
    request.next = undefined;
    this.inFlight--;
    return request;
  }

  readonly #flush = (): void => {
    this.#flushes = false;
    this.#unwritten = undefined;
    if (this.#live) this.#writer.flush(this.#socket as Socket);
  };

  readonly #replied = (reply: FlatReply | ReplyError): void => {
    if (!this.#live) return;
    if (!this.#oldest) return this.#unasked(reply);
    this.#timeouts = 0;
    this.#silentSinceMs = this.#options.clock.nowMs();
    this.#shift(this.#oldest).replied(reply, this);
  };

  #unasked(reply: FlatReply | ReplyError): void {
    if (this.#owner.unasked) this.#owner.unasked(reply);
    else this.drop('a reply that nobody asked for');
  }

  #within(timeoutMs: number, reason: () => string): void {
    clearTimeout(this.#probe);
    this.#probe = setTimeout(() => this.drop(reason()), timeoutMs);
  }

  /** Sends a command of the connection itself. `judge` returns the fault of its reply. */
  #ask(
    name: string,
    args: readonly Bytes[],
    judge: (reply: FlatReply | ReplyError) => string | undefined,
  ): void {
    this.send({
      name,
      args,
      next: undefined,
      failed: () => undefined,
      unsent: () => undefined,
      replied: (reply) => {
        const fault = judge(reply);
        if (fault !== undefined) this.drop(fault);
      },
    });
  }

  #isUp(): undefined {
    clearTimeout(this.#probe);
    clearTimeout(this.#patience);
    this.up = true;
    this.opening = false;
    this.#failures = 0;
    this.#lastReason = undefined;
    this.#owner.up(this);
  }
}

const errorOf = (reply: FlatReply | ReplyError): string | undefined =>
  reply instanceof ReplyError ? reply.message : undefined;
