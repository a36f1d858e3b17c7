import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { ListenAddress } from '../../contract/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import { chmodSocket, openFilesLimit } from '../../system/index.ts';
import type { Connections } from '../../zone/index.ts';

/** The share of all descriptors for client connections: each may need another descriptor for its upstream or a file. */
const CLIENTS_SHARE = 1 / 2;
/** Below this share of all descriptors, client connections cannot have exhausted them. */
const HARMLESS_SHARE = 1 / 8;
/** A worker with a smaller share of free connections is crowded (nginx: ngx_drain_connections). */
const CROWDED_SHARE = 1 / 16;

/** Closes an idle connection; returns false if there is none. */
type MakeRoom = () => boolean;

/**
 * Limits the connections of a worker to `worker_connections`, and leaves enough descriptors for upstreams and files.
 * uWebSockets.js would loop on a connection that it cannot accept.
 */
export class Admission {
  readonly #log: ErrorLog;
  readonly #connections: Connections;
  readonly #descriptors = openFilesLimit();
  #most = Infinity;
  #open = 0;
  /** The last message since there was room: a connection was closed for a new one, or a new one was refused. */
  #told: '' | 'reusing' | 'refusing' = '';

  constructor(log: ErrorLog, connections: Connections) {
    this.#log = log;
    this.#connections = connections;
  }

  /** Sets the limit. Open connections are not closed if it decreases. */
  use(workerConnections: number | undefined): void {
    this.#most = workerConnections ?? Infinity;
  }

  /** True if responses close their connections to make room. */
  get isCrowded(): boolean {
    return this.#told !== '' || this.#most - this.#open < this.#most * CROWDED_SHARE;
  }

  /** Counts an accepted connection; returns false if it must be closed. */
  admit(makeRoom: MakeRoom = () => false): boolean {
    const { accepted, handled, refused, active } = this.#connections;
    accepted.add();
    if (!this.#hasRoom() && !this.#reuse(makeRoom)) {
      refused.add();
      return false;
    }
    handled.add();
    active.add(1);
    this.#open++;
    return true;
  }

  /** Called when an admitted connection has closed. */
  left(): void {
    this.#connections.active.add(-1);
    this.#open--;
  }

  #hasRoom(): boolean {
    const places = this.#most - this.#open;
    const ofDescriptors = this.#clientDescriptors();
    if (!isScarce(places, this.#most) && !isScarce(ofDescriptors, this.#descriptors)) this.#told = '';
    return places > 0 && ofDescriptors > 0;
  }

  #reuse(makeRoom: MakeRoom): boolean {
    const isMade = makeRoom();
    const cause =
      this.#open >= this.#most
        ? `${this.#most} worker_connections are not enough`
        : `accept() stops (24: Too many open files): clients get ${CLIENTS_SHARE * 100}% of ${this.#descriptors}`;
    if (!isMade && this.#told !== 'refusing') this.#log.write('alert', cause);
    else if (isMade && this.#told === '') this.#log.write('warn', `${cause}, reusing connections`);
    if (this.#told !== 'refusing') this.#told = isMade ? 'reusing' : 'refusing';
    return isMade;
  }

  /**
   * Returns how many more descriptors client connections may use. The kernel assigns the lowest free one, so all below
   * it are in use.
   */
  #clientDescriptors(): number {
    if (this.#connections.open() < this.#descriptors * HARMLESS_SHARE) return Infinity;
    try {
      const descriptor = openSync(devNull, 'r');
      closeSync(descriptor);
      return Math.ceil(this.#descriptors * CLIENTS_SHARE) - descriptor;
    } catch {
      return 0;
    }
  }
}

/** Tells whether a worker is crowded: little is left of a limit. False without a limit. */
function isScarce(left: number, limit: number): boolean {
  return limit !== Infinity && left <= limit * CROWDED_SHARE;
}

/**
 * Texts of recent addresses; the map is cleared when it has this many. A plain map is faster here than an LRU cache.
 */
const MOST_KNOWN = 1024;
const known = new Map<number, string>();

/**
 * Returns an address as nginx prints it, from its 4 or 16 bytes: IPv6 shortened, IPv4 clients of an IPv6 socket as
 * IPv4, and `unix:` for a Unix socket, which has no address.
 */
export function printedAddress(address: ArrayBuffer): string {
  const bytes = new Uint8Array(address);
  if (bytes.length === 4) return ipv4Text(bytes, 0);
  if (bytes.length !== 16) return 'unix:';
  const isMapped = bytes.every((byte, index) => index > 11 || byte === (index < 10 ? 0 : 0xff));
  return isMapped ? ipv4Text(bytes, 12) : ipv6Text(bytes);
}

function ipv4Text(bytes: Uint8Array, at: number): string {
  const byte = (index: number): number => bytes[at + index] as number;
  const key = (byte(0) << 24) | (byte(1) << 16) | (byte(2) << 8) | byte(3);
  const before = known.get(key);
  if (before !== undefined) return before;
  const text = bytes.subarray(at).join('.');
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(key, text);
  return text;
}

/** Returns the text of an IPv6 address. The URL parser shortens it as RFC 5952 requires. */
function ipv6Text(bytes: Uint8Array): string {
  const digits = Buffer.from(bytes).toString('hex');
  const groups = digits.match(/.{4}/g) ?? [];
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** As in nginx, every account may connect. */
const MODE = 0o666;

/** Sets the mode of a Unix socket's file as nginx does. Must be called after the socket listens. */
export function admitEverybody(address: ListenAddress): void {
  if (address.kind === 'unix') chmodSocket(address.path, MODE);
}
