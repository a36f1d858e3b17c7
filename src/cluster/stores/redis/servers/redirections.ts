import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply } from '../../../../redis/index.ts';
import { StoreLost, StoreRefused } from '../../store.ts';
import { type ServerAddress, serverAddress } from '../redis-replies.ts';
import { type Command, type Commands, runScript, type ScriptCall } from './commands.ts';
import type { StoreConnection } from './store-connection.ts';

/** A server that may have a slot. */
export interface Target {
  readonly address: ServerAddress;
  /** The server is only receiving the slot: each command needs ASKING before it. */
  readonly isAsking?: boolean;
}

/** Leads to the server of one slot. */
export interface Route {
  /** Throws `StoreLost` if no server is known. */
  start(): Target;
  connectionTo(target: Target): StoreConnection;
  /** A server has said that another one has the slot, or is receiving it. */
  redirected(target: Target): void;
}

/** While the map is outdated, a slot that moved may take several redirections to find. */
const MOST_REDIRECTIONS = 5;
/** The pause between attempts while the keys of a command are being moved between servers. */
const MOVING_MS = 50;

/**
 * Sends a command to the server of a slot, and follows redirections. A command that was redirected was not executed, so
 * no command is executed twice
 * (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#redirection-and-resharding).
 */
export async function askFollowing<T>(
  route: Route,
  { command, timeoutMs }: { readonly command: Command; readonly timeoutMs: number },
  read: (reply: Reply) => T,
): Promise<T> {
  const untilMs = performance.now() + timeoutMs;
  let target = route.start();
  for (let redirections = 0; redirections <= MOST_REDIRECTIONS;) {
    const connection = route.connectionTo(target);
    await connection.ready();
    try {
      return await connection.ask(command, read, target.isAsking);
    } catch (error) {
      const next = redirectionOf(error, target);
      if (next === undefined) throw error;
      if (next !== 'again') {
        redirections += 1;
        target = next;
        route.redirected(target);
      } else if (performance.now() > untilMs) throw error;
      else await sleep(MOVING_MS, undefined, { ref: false });
    }
  }
  throw new StoreLost('the servers redirect each other');
}

/** Reads `MOVED SLOT HOST:PORT`, `ASK SLOT HOST:PORT` and `TRYAGAIN …`. No host means the server that was asked. */
function redirectionOf(error: unknown, { address }: Target): Target | 'again' | undefined {
  if (!(error instanceof StoreRefused)) return undefined;
  if (error.message.startsWith('TRYAGAIN ')) return 'again';
  const [, kind, host, port] = /^(MOVED|ASK) \d{1,5} (\S*):(\d+)$/.exec(error.message) ?? [];
  const named = port === undefined ? undefined : serverAddress(host || address.host, port);
  return named && { address: named, isAsking: kind === 'ASK' };
}

interface SlotReaderParts {
  readonly timeoutMs: number;
  /** Returns the server that has the slot according to the map. */
  readonly start: () => Target;
  readonly open: (target: Target) => StoreConnection;
  readonly redirected: (target: Target) => void;
}

/** A connection on which commands about the keys of one slot can wait. It follows the slot from server to server. */
export class SlotReader implements Commands, Route {
  readonly #parts: SlotReaderParts;
  #open: { readonly label: string; readonly connection: StoreConnection } | undefined;
  /** The server to which it was redirected. Preferred to the map, which may be older, until the connection is lost. */
  #redirected: Target | undefined;

  constructor(parts: SlotReaderParts) {
    this.#parts = parts;
  }

  async ask<T>(command: Command, read: (reply: Reply) => T): Promise<T> {
    if (this.#open?.connection.isUp === false) this.#redirected = undefined;
    return askFollowing(this, { command, timeoutMs: this.#parts.timeoutMs }, read);
  }

  run<T>(call: ScriptCall, read: (reply: Reply) => T): Promise<T> {
    return runScript(this, call, read);
  }

  start(): Target {
    return this.#redirected ?? this.#parts.start();
  }

  connectionTo(target: Target): StoreConnection {
    const label = `${target.address.host}:${target.address.port}`;
    if (this.#open?.label !== label) {
      this.close();
      this.#open = { label, connection: this.#parts.open(target) };
    }
    return this.#open.connection;
  }

  redirected(target: Target): void {
    this.#redirected = target;
    this.#parts.redirected(target);
  }

  renew(reason: string): void {
    this.#open?.connection.renew(reason);
  }

  close(): void {
    this.#open?.connection.close();
    this.#open = undefined;
  }
}
