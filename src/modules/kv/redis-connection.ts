import type { Socket } from 'node:net';
import type { Command, Redis, RedisOptions } from 'ioredis';
import type { Endpoint } from './address.ts';
import { addressLabel } from './address.ts';
import type { Bytes, Reply } from './store.ts';

/** ioredis, loaded where a worker provisions and never on import. */
export type RedisClient = typeof import('./redis-client.ts');

export interface ConnectionOptions {
  readonly client: RedisClient;
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

/** `error`: the store's own when its name is `ReplyError`, otherwise the connection's. */
export type OnReply = (error: Error | null, reply: Reply) => void;

/** Timeouts in a row, or silence, after which a connection is given up (reliability.md, 4d). */
const MAX_TIMEOUTS = 3;
const MAX_SILENCE_MS = 2_000;
/** Errors of a store that answers commands, if only with errors; `max number of clients reached` is none of them. */
const ANSWERING = /^(?:NOAUTH|NOPERM|LOADING|BUSY|MASTERDOWN|MISCONF)\b/;
const KEEP_ALIVE_MS = 30_000;
const retryDelayMs = (attempt: number): number => Math.min(50 * attempt, 500);

/**
 * One connection to Redis or Valkey that reconnects for ever. It counts as up once a PING came back: a listening socket
 * alone proves nothing, a frozen server has one too. Nothing is queued while it is down and nothing is ever sent twice.
 */
export class RedisConnection {
  readonly label: string;
  up = false;
  /** True until the first attempt to connect has ended. */
  opening = true;
  inFlight = 0;
  readonly #client: Redis;
  readonly #command: typeof Command;
  readonly #options: ConnectionOptions;
  readonly #owner: ConnectionOwner;
  #closed = false;
  /** True from the start of an attempt to connect until it fails or the connection breaks. */
  #live = true;
  #lastReason: string | undefined;
  #probe: NodeJS.Timeout | undefined;
  #corked: Socket | undefined;
  #replies = 0;
  #timeouts = 0;
  /** Since when the oldest unanswered command waits, or since the last reply; on the clock of `performance.now()`. */
  #silentSinceMs = 0;

  constructor(endpoint: Endpoint, options: ConnectionOptions, owner: ConnectionOwner) {
    this.label = addressLabel(endpoint);
    this.#command = options.client.Command;
    this.#options = options;
    this.#owner = owner;
    this.#client = new options.client.Redis(clientOptions(endpoint, options.connectTimeoutMs));
    this.#client.on('connecting', () => (this.#live = true));
    // `error` is a failed connect, a reply that is not RESP, one that nobody asked for, or a refused AUTH or SELECT.
    this.#client.on('error', (error: Error) => this.drop(reasonOf(error)));
    this.#client.on('close', () => this.#lost('connection closed'));
    this.#client.on('connect', () => this.#expectReady());
    this.#client.on('ready', () => this.#verify());
  }

  /** Sends one command; the caller has seen `up`. */
  send(name: string, args: readonly Bytes[], onReply: OnReply): void {
    if (this.inFlight++ === 0) this.#silentSinceMs = performance.now();
    this.#cork();
    const command = new this.#command(name, args as Bytes[], undefined, (error, reply) => {
      this.inFlight--;
      if (!error || isReplyError(error)) this.#answered();
      else this.drop(reasonOf(error));
      onReply(error ?? null, reply as Reply);
    });
    this.#client.sendCommand(command);
  }

  /** One command got no reply in time: the connection is kept as long as others do. */
  timedOut(): void {
    this.#timeouts++;
    const silentMs = performance.now() - this.#silentSinceMs;
    if (this.#timeouts >= MAX_TIMEOUTS) this.drop(`${MAX_TIMEOUTS} timeouts in a row`);
    else if (silentMs >= MAX_SILENCE_MS) this.drop(`silent for ${Math.round(silentMs)} ms`);
  }

  /** Breaks the connection at once, without waiting for the peer to agree, and connects anew. */
  drop(reason: string): void {
    this.#lost(reason);
    this.#client.stream?.destroy();
  }

  close(): void {
    this.#closed = true;
    this.up = false;
    clearTimeout(this.#probe);
    this.#client.disconnect();
    this.#client.stream?.destroy();
  }

  /** What goes wrong first is the reason; the owner hears it once, however often an attempt fails for it. */
  #lost(reason: string): void {
    if (!this.#live) return;
    this.#live = false;
    clearTimeout(this.#probe);
    const isNews = this.up || this.opening || reason !== this.#lastReason;
    this.up = false;
    this.opening = false;
    if (!isNews || this.#closed) return;
    this.#lastReason = reason;
    this.#owner.down(this, reason);
  }

  /** Every write of one turn of the event loop leaves in one packet: 40–57 k/s against 17–30 k (architecture.md). */
  #cork(): void {
    if (this.#corked) return;
    this.#corked = this.#client.stream as Socket;
    this.#corked.cork();
    setImmediate(this.#uncork);
  }

  readonly #uncork = (): void => {
    this.#corked?.uncork();
    this.#corked = undefined;
  };

  #answered(): void {
    this.#replies++;
    this.#timeouts = 0;
    this.#silentSinceMs = performance.now();
  }

  /** ioredis bounds the TCP connect only; AUTH, SELECT and PING get the same time once more. */
  #expectReady(): void {
    clearTimeout(this.#probe);
    this.#probe = setTimeout(
      () => this.drop('it accepts connections but does not answer'),
      this.#options.connectTimeoutMs,
    );
  }

  #verify(): void {
    this.#limitReplies(this.#client.stream as Socket);
    this.send('ping', [], (error, reply) => {
      clearTimeout(this.#probe);
      if (error ? !ANSWERING.test(error.message) : String(reply) !== 'PONG') {
        return this.drop(error ? error.message : 'it does not answer PING with PONG');
      }
      this.up = true;
      this.opening = false;
      this.#lastReason = undefined;
      this.#owner.up(this);
    });
  }

  /** A reply in the making is measured as it arrives: ioredis would collect 512 MB of it. */
  #limitReplies(socket: Socket): void {
    let replies = this.#replies;
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes = replies === this.#replies ? bytes + chunk.length : chunk.length;
      replies = this.#replies;
      if (bytes > this.#options.maxReplyBytes)
        this.drop(`a reply exceeds ${this.#options.maxReplyBytes} bytes`);
    });
  }
}

/** True for an error that the store answered, false for one of the connection. */
export function isReplyError(error: Error): boolean {
  return error.name === 'ReplyError';
}

/** A reason fit for the log: never a reply, which is somebody's data. */
function reasonOf(error: Error & { readonly code?: string }): string {
  if (error.message.startsWith('Command queue state error')) return 'a reply that nobody asked for';
  if (error.message.includes('RESP')) return 'a reply that is not RESP';
  return error.message || error.code || error.name;
}

/** ioredis with everything off that resends, queues or speaks by itself (reliability.md, 4d). */
function clientOptions(endpoint: Endpoint, connectTimeoutMs: number): Omit<RedisOptions, 'replyMapping'> {
  const { username, password, db, tls } = endpoint;
  return {
    ...(endpoint.kind === 'unix' ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(db !== undefined && { db }),
    ...(tls && { tls: {} }),
    protocol: 2,
    stringNumbers: true,
    connectTimeout: connectTimeoutMs,
    keepAlive: KEEP_ALIVE_MS,
    retryStrategy: retryDelayMs,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    disableClientInfo: true,
  };
}
