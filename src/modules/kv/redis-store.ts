import { CountedLine, type ErrorLog, Outage } from '../../log/index.ts';
import {
  type ConnectionOwner,
  type Endpoint,
  RedisConnection,
  ReplyError,
  type Request,
} from '../../redis/index.ts';
import {
  type Bytes,
  type ConnectionState,
  type Done,
  MAX_KEYS,
  type Reply,
  type ReplyShape,
  replyShapeOf,
  type Store,
  type StoreCommand,
  type StoreFault,
} from './commands.ts';
import type { StoreSettings } from './directives.ts';
import { moreFailed, printable } from './response.ts';
import { Call, Outstanding } from './outstanding.ts';
import type { Versions } from './versions.ts';

/** Maximum number of commands of one store that wait for their reply in one worker. */
const MAX_OUTSTANDING = 10_000;
/** Bytes for the framing of a reply, in addition to its values. */
const FRAMING_BYTES = 65_536;

/** Receives the end of a call. */
interface CallOwner {
  replied(call: RedisCall, reply: Reply | ReplyError, from: RedisConnection): void;
  failed(call: RedisCall, reason: string): void;
  unsent(call: RedisCall, reason: string): void;
}

class RedisCall extends Call implements Request {
  readonly name: StoreCommand;
  readonly args: readonly Bytes[];
  readonly owner: CallOwner;
  /** Absent while the call waits for a connection. */
  connection: RedisConnection | undefined = undefined;
  next: Request | undefined = undefined;

  constructor(command: Pick<RedisCall, 'name' | 'args' | 'owner'>, done: Done, deadlineMs: number) {
    super(done, deadlineMs);
    this.name = command.name;
    this.args = command.args;
    this.owner = command.owner;
  }

  replied(reply: Reply | ReplyError, from: RedisConnection): void {
    this.owner.replied(this, reply, from);
  }

  failed(reason: string): void {
    this.owner.failed(this, reason);
  }

  unsent(reason: string): void {
    this.owner.unsent(this, reason);
  }
}

/** The settings of a Redis store. */
export interface RedisStoreParts {
  readonly label: string;
  readonly identity: string;
  readonly versions?: Versions | undefined;
  readonly endpoints: readonly Endpoint[];
  readonly settings: StoreSettings;
  readonly log: ErrorLog;
}

/**
 * Redis or Valkey: commands are distributed over the connections that are up. If no connection is up, they wait for one
 * that is being opened, up to the connect timeout; otherwise they fail at once.
 */
export class RedisStore implements CallOwner, ConnectionOwner, Store {
  readonly label: string;
  readonly identity: string;
  readonly versions: Versions | undefined;
  readonly #pipelining: boolean;
  readonly #log: ErrorLog;
  readonly #connections: readonly RedisConnection[];
  readonly #outstanding: Outstanding<RedisCall>;
  /** Calls that wait for a connection to open or, without pipelining, to become free. */
  #waiting: RedisCall[] = [];
  #next = 0;
  #lastReplyGood = true;
  readonly #outage: Outage;
  /** Requests without a reply while other connections, or other commands, work. */
  readonly #failed: CountedLine;

  constructor({ label, identity, versions, endpoints, settings, log }: RedisStoreParts) {
    this.label = label;
    this.identity = identity;
    this.versions = versions;
    this.#pipelining = settings.pipelining;
    this.#log = log;
    this.#outage = new Outage({ log, lines: { prefix: 'kv', requests: `requests for ${label}` } });
    this.#failed = new CountedLine((count) => log.write('error', moreFailed(count, label)));
    this.#outstanding = new Outstanding(settings.timeoutMs, MAX_OUTSTANDING, (late) => this.#timedOut(late));
    const options = {
      clock: this.#outstanding.clock,
      connectTimeoutMs: settings.connectTimeoutMs,
      // No reply to values that were written through gw is larger, so no client can make gw close a shared connection.
      maxReplyBytes: (MAX_KEYS + 1) * settings.maxValueBytes + FRAMING_BYTES,
    };
    this.#connections = endpoints
      .flatMap((endpoint) => Array.from({ length: settings.connections }, () => endpoint))
      .map((endpoint) => new RedisConnection(endpoint, options, this));
  }

  get state(): ConnectionState {
    const up = this.#connections.filter((connection) => connection.up).length;
    if (up === 0) return 'error';
    return up === this.#connections.length && this.#lastReplyGood ? 'connected' : 'degraded';
  }

  get busy(): boolean {
    return this.#outstanding.size > 0;
  }

  counts(fault: StoreFault): boolean {
    if (fault.code === 'kv_error') return false;
    if (this.state !== 'error') return !this.#failed.add();
    const isKnown = this.#outage.isUnderWay;
    this.#outage.begin(fault.text);
    this.#outage.failed();
    return isKnown;
  }

  run(name: StoreCommand, args: readonly Bytes[], done: Done): void {
    if (this.#outstanding.full) {
      return done({ code: 'connection_failed', text: `${MAX_OUTSTANDING} commands wait already` }, null);
    }
    const connection = this.#idle();
    if (!connection && !this.#isReachable) {
      return done({ code: 'connection_failed', text: 'not connected' }, null);
    }
    const call = new RedisCall({ name, args, owner: this }, done, this.#outstanding.deadlineMs());
    this.#outstanding.add(call);
    if (connection) this.#send(call, connection);
    else this.#waiting.push(call);
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    this.#outstanding.failAll({ code: 'connection_failed', text: 'the store is closed' });
    this.#outage.close();
    this.#failed.close();
  }

  up(connection: RedisConnection): void {
    this.#log.write('notice', `kv: connected to ${connection.label}`);
    this.#outage.end();
    this.#serveWaiting();
  }

  down(connection: RedisConnection, reason: string): void {
    this.#log.write('error', `kv: no connection to ${connection.label}: ${printable(reason)}`);
    if (this.#isReachable) return;
    const waiting = this.#waiting.splice(0);
    for (const call of waiting)
      this.#outstanding.settle(call, { code: 'connection_failed', text: reason }, null);
  }

  /** True if a connection is up or is being opened. */
  get #isReachable(): boolean {
    return this.#connections.some(({ up, opening }) => up || opening);
  }

  /** Returns the next connection that can take a command, round robin. */
  #idle(): RedisConnection | undefined {
    const all = this.#connections;
    for (let tried = 0; tried < all.length; tried++) {
      this.#next = (this.#next + 1) % all.length;
      const connection = all[this.#next] as RedisConnection;
      if (connection.up && (this.#pipelining || connection.inFlight === 0)) return connection;
    }
    return undefined;
  }

  replied(call: RedisCall, reply: Reply | ReplyError, from: RedisConnection): void {
    if (reply instanceof ReplyError) {
      this.#lastReplyGood = false;
      this.#outstanding.settle(call, { code: 'kv_error', text: reply.message }, null);
    } else if (fits(replyShapeOf(call.name), reply)) {
      this.#lastReplyGood = true;
      this.#outstanding.settle(call, undefined, reply);
    } else {
      // Replies are matched to commands by order alone: one of the wrong type may belong to another request.
      from.drop(`an unexpected reply to "${call.name}"`);
      this.#outstanding.settle(call, { code: 'connection_failed', text: 'unexpected reply' }, null);
    }
    if (this.#waiting.length > 0) this.#serveWaiting();
  }

  failed(call: RedisCall, reason: string): void {
    this.#lastReplyGood = false;
    this.#outstanding.settle(call, { code: 'connection_failed', text: reason }, null);
    if (this.#waiting.length > 0) this.#serveWaiting();
  }

  unsent(call: RedisCall, reason: string): void {
    if (!this.#isReachable) return this.failed(call, reason);
    if (!call.waits) return;
    call.connection = undefined;
    this.#waiting.push(call);
  }

  #send(call: RedisCall, connection: RedisConnection): void {
    call.connection = connection;
    connection.send(call);
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0) {
      const connection = this.#idle();
      if (!connection) return;
      this.#send(this.#waiting.shift() as RedisCall, connection);
    }
  }

  #timedOut(late: readonly RedisCall[]): void {
    this.#lastReplyGood = false;
    this.#log.write('error', `kv: ${late.length} command(s) to ${this.label} timed out`);
    const expired = new Set(late);
    this.#waiting = this.#waiting.filter((call) => !expired.has(call));
    for (const { connection, name } of late) {
      if (!connection?.up) continue;
      // Without pipelining nothing else could be sent before the late reply, so the connection is closed.
      if (this.#pipelining) connection.timedOut();
      else connection.giveUp(`no reply to "${name}" in time`);
    }
  }
}

function fits(shape: ReplyShape, reply: Reply): boolean {
  switch (shape) {
    case 'text':
      return reply === null || reply instanceof Buffer;
    case 'status':
      return reply instanceof Buffer;
    case 'integer':
      return typeof reply === 'string';
    case 'texts':
      return Array.isArray(reply) && reply.every((item) => item === null || item instanceof Buffer);
  }
}
