import type { Socket } from 'node:net';
import { addressLabel, type Endpoint } from './address.ts';
import type { Bytes, Reply } from './commands.ts';
import { dial } from './dial.ts';
import type { TickClock } from './outstanding.ts';
import { ReplyError, RespReader, RespWriter } from './resp.ts';

/** What broke may be there again at once; what cannot be reached is asked ever more rarely. */
const retryDelayMs = (attempt: number): number => Math.min(50 * (attempt - 1), 500);

interface ConnectionOptions {
  readonly clock: TickClock;
  readonly connectTimeoutMs: number;
  /** Bytes of one reply beyond which the connection is cut instead of buffering on. */
  readonly maxReplyBytes: number;
}

/** Who hears of a connection's life. */
export interface ConnectionOwner {
  /** It answers, or answers again. */
  up(connection: RedisConnection): void;
  /** An attempt to connect failed, or the connection broke. Reconnecting goes on by itself. */
  down(connection: RedisConnection, reason: string): void;
}

/** A command and who gets its reply: exactly one of `replied`, `failed` and `unsent` is called, once. */
export interface Request {
  readonly name: string;
  readonly args: readonly Bytes[];
  replied(reply: Reply | ReplyError, connection: RedisConnection): void;
  /** The connection broke; the command may have been carried out. */
  failed(reason: string): void;
  /** The connection broke before the command was written. */
  unsent(reason: string): void;
  /** The request behind it on its connection, which alone uses this. */
  next: Request | undefined;
}

/** Timeouts in a row, or silence, after which a connection is given up. */
const MAX_TIMEOUTS = 3;
const MAX_SILENCE_MS = 2_000;
/** What AUTH is answered where there is no password. */
const NO_PASSWORD = /no password is set|without any password configured/;
/** Errors of a store that answers commands, if only with errors; `max number of clients reached` is none of them. */
const ANSWERING = /^(?:NOAUTH|NOPERM|LOADING|BUSY|MASTERDOWN|MISCONF)\b/;

/**
 * One connection to Redis or Valkey that reconnects for ever. It counts as up once a PING came back: a listening socket
 * alone proves nothing, a frozen server has one too. It queues nothing, and nothing is ever sent twice. Replies come in the
 * order of the requests.
 */
export class RedisConnection {
  readonly label: string;
  up = false;
  /**
   * True until the first attempt to connect has ended, and again from when the connection broke: worth waiting for. Not when we
   * gave it up for its silence.
   */
  opening = true;
  inFlight = 0;
  readonly #endpoint: Endpoint;
  readonly #options: ConnectionOptions;
  readonly #owner: ConnectionOwner;
  #socket: Socket | undefined;
  /** Attempts to connect that failed since it was up. */
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;
  /** True from the start of an attempt to connect until it fails or the connection breaks. */
  #live = true;
  #lastReason: string | undefined;
  #probe: NodeJS.Timeout | undefined;
  /** Bounds how long `opening` lasts behind a break. */
  #patience: NodeJS.Timeout | undefined;
  readonly #writer = new RespWriter();
  #flushes = false;
  /** The requests that wait for their replies. */
  #oldest: Request | undefined;
  #newest: Request | undefined;
  /** The first of those that are not written yet. */
  #unwritten: Request | undefined;
  #timeouts = 0;
  /** Since when the oldest unanswered command waits, or since the last reply; on the clock of `performance.now()`. */
  #silentSinceMs = 0;

  constructor(endpoint: Endpoint, options: ConnectionOptions, owner: ConnectionOwner) {
    this.label = addressLabel(endpoint);
    this.#endpoint = endpoint;
    this.#options = options;
    this.#owner = owner;
    this.#connect();
  }

  /** Sends one command; the caller has seen `up`. All of one turn of the event loop leave in one packet. */
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

  /** One command got no reply in time: the connection is kept as long as others do. */
  timedOut(): void {
    this.#timeouts++;
    const silentMs = performance.now() - this.#silentSinceMs;
    if (this.#timeouts >= MAX_TIMEOUTS) this.giveUp(`${MAX_TIMEOUTS} timeouts in a row`);
    else if (silentMs >= MAX_SILENCE_MS) this.giveUp(`silent for ${Math.round(silentMs)} ms`);
  }

  /** Breaks the connection at once, without waiting for the peer to agree, and connects anew. */
  drop(reason: string): void {
    this.#lost(reason);
    this.#socket?.destroy();
  }

  /** As `drop`, but nobody waits for a connection to what says nothing. */
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
    const reader = new RespReader(maxReplyBytes, this.#replied);
    this.#within(connectTimeoutMs, 'connect ETIMEDOUT');
    this.#socket = dial(this.#endpoint, () => this.#logIn())
      .on('data', (chunk) => {
        const problem = reader.read(chunk);
        if (problem !== undefined) this.drop(problem);
      })
      .on('error', (error) => this.drop(reasonOf(error)))
      .on('close', () => {
        this.#lost('connection closed');
        if (!this.#closed) this.#retry = setTimeout(this.#connect, retryDelayMs(++this.#failures));
      });
  };

  /** Commands behind a refused login fail with it. */
  #logIn(): void {
    this.#within(this.#options.connectTimeoutMs, 'it accepts connections but does not answer');
    const { username, password, db } = this.#endpoint;
    if (password) this.#ask('auth', username ? [username, password] : [password], authProblem);
    if (db) this.#ask('select', [String(db)], errorOf);
    this.#ask('ping', [], (reply) => pingProblem(reply) ?? this.#isUp());
  }

  /** What goes wrong first is the reason; the owner hears it once, however often an attempt fails for it. */
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

  readonly #replied = (reply: Reply | ReplyError): void => {
    if (!this.#live) return;
    if (!this.#oldest) return this.drop('a reply that nobody asked for');
    this.#timeouts = 0;
    this.#silentSinceMs = this.#options.clock.nowMs();
    this.#shift(this.#oldest).replied(reply, this);
  };

  #within(timeoutMs: number, reason: string): void {
    clearTimeout(this.#probe);
    this.#probe = setTimeout(() => this.drop(reason), timeoutMs);
  }

  /** `judge` tells what is wrong with the reply. */
  #ask(name: string, args: readonly Bytes[], judge: (reply: Reply | ReplyError) => string | undefined): void {
    this.send({
      name,
      args,
      next: undefined,
      failed: () => undefined,
      unsent: () => undefined,
      replied: (reply) => {
        const problem = judge(reply);
        if (problem !== undefined) this.drop(problem);
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

const errorOf = (reply: Reply | ReplyError): string | undefined =>
  reply instanceof ReplyError ? reply.message : undefined;

/** A store without a password takes everybody, with whatever password. */
function authProblem(reply: Reply | ReplyError): string | undefined {
  const message = errorOf(reply);
  return message !== undefined && NO_PASSWORD.test(message) ? undefined : message;
}

/** What the reply to PING says against the store. */
function pingProblem(reply: Reply | ReplyError): string | undefined {
  if (reply instanceof ReplyError) return ANSWERING.test(reply.message) ? undefined : reply.message;
  return String(reply) === 'PONG' ? undefined : 'it does not answer PING with PONG';
}

/** Where a host has several addresses the error of all of them has a code alone. */
function reasonOf({ message, code, name }: NodeJS.ErrnoException): string {
  return message || code || name;
}
