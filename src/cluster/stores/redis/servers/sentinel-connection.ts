import { type Endpoint, type FlatReply, RedisConnection, ReplyError } from '../../../../redis/index.ts';
import { StoreLost, StoreRefused } from '../../store.ts';
import { serverAddress, type ServerAddress } from '../redis-replies.ts';

interface SentinelOptions {
  readonly sentinel: Endpoint;
  /** Name of the master. */
  readonly name: string;
  readonly timeoutMs: number;
}

interface SentinelOwner {
  /** The connection was lost or could not be established. */
  down(): void;
  /** Another server has become the master. */
  switched(): void;
}

/** The channel on which a Sentinel announces a new master. */
const SWITCHED = '+switch-master';
/** A handshake takes longer than a command. */
const MIN_CONNECT_MS = 1_000;
const MAX_REPLY_BYTES = 65_536;

/**
 * A connection to a Sentinel, which gives the address of the master and announces the next one. ioredis is not used: it
 * throws an exception that cannot be caught if anything but a message arrives on a subscribed connection.
 */
export class SentinelConnection {
  /** The address of the master, as the Sentinel gives it. Rejects with `StoreLost` or `StoreRefused`. */
  readonly told: Promise<ServerAddress>;
  readonly #name: string;
  readonly #connection: RedisConnection;
  readonly #owner: SentinelOwner;
  #answer: (address: ServerAddress | Error) => void = () => undefined;

  constructor({ sentinel, name, timeoutMs }: SentinelOptions, owner: SentinelOwner) {
    this.#name = name;
    this.#owner = owner;
    this.told = new Promise((resolve, reject) => {
      this.#answer = (address) => (address instanceof Error ? reject(address) : resolve(address));
    });
    const connectTimeoutMs = Math.max(timeoutMs, MIN_CONNECT_MS);
    const clock = { nowMs: () => performance.now() };
    this.#connection = new RedisConnection(
      sentinel,
      { clock, connectTimeoutMs, maxReplyBytes: MAX_REPLY_BYTES },
      {
        up: () => this.#ask(timeoutMs),
        down: (connection, reason) => {
          // The owner reconnects to a Sentinel, after pauses of its own.
          connection.close();
          this.#answer(new StoreLost(reason));
          owner.down();
        },
        unasked: (message) => this.#heard(message),
        // Required, so that lists may contain numbers.
        pushed: () => undefined,
      },
    );
  }

  get isUp(): boolean {
    return this.#connection.up;
  }

  close(): void {
    this.#connection.close();
    this.#answer(new StoreLost('closed'));
  }

  #ask(timeoutMs: number): void {
    const late = `no reply within ${timeoutMs} ms`;
    const timer = setTimeout(() => {
      this.#answer(new StoreLost(late));
      this.#connection.giveUp(late);
    }, timeoutMs);
    let address: ServerAddress | Error | undefined;
    this.#send('sentinel', ['get-master-addr-by-name', this.#name], (reply) => {
      address = this.#addressOf(reply);
    });
    this.#send('subscribe', [SWITCHED], () => {
      clearTimeout(timer);
      // Without the right to subscribe, only the loss of the master shows that another one is needed.
      if (address) this.#answer(address);
    });
  }

  #send(name: string, args: readonly string[], replied: (reply: FlatReply | ReplyError) => void): void {
    const failed = (reason: string): void => this.#answer(new StoreLost(reason));
    this.#connection.send({ name, args, replied, failed, unsent: failed, next: undefined });
  }

  #addressOf(reply: FlatReply | ReplyError): ServerAddress | Error {
    if (reply instanceof ReplyError) return new StoreRefused(reply.message);
    const isList = Array.isArray(reply);
    if (reply === null || (isList && reply.length === 0))
      return new StoreRefused(`it knows no master "${this.#name}"`);
    const [host, port] = isList ? reply.map(String) : [];
    return serverAddress(host ?? '', port ?? '') ?? new StoreLost('an unexpected reply to "sentinel"');
  }

  /** A message is a list: its kind, the channel, and `NAME OLD-HOST OLD-PORT NEW-HOST NEW-PORT`. */
  #heard(message: FlatReply | ReplyError): void {
    const [, channel, text] = Array.isArray(message) ? message.map(String) : [];
    if (channel === SWITCHED && text?.startsWith(`${this.#name} `)) this.#owner.switched();
  }
}
