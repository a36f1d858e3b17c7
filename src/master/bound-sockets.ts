import type { SendHandle } from 'node:child_process';
import { EventEmitter } from 'node:events';
import net from 'node:net';
import { constants } from 'node:os';
import type { ListenAddress } from '../contract/index.ts';
import { removeSocketFile } from './process-files.ts';

/** A bound socket that does not accept connections. */
export interface BoundSocket {
  close(closed?: () => void): void;
  /** Absent from Unix sockets. */
  getsockname?(found: { port?: number }): number;
}

/** Binds without listening, as `node:cluster` does for its workers; a number is an error of libuv. */
interface Binding {
  _createServerHandle(
    address: string | null,
    port: number,
    family: 4 | 6 | -1,
    descriptor?: number,
    flags?: number,
  ): BoundSocket | number;
}

const UV_TCP_IPV6ONLY = 1;
/** Umask for Unix sockets: every account may connect, as in nginx. */
const SOCKET_UMASK = 0o111;
const EADDRINUSE = -constants.errno.EADDRINUSE;

const { _createServerHandle: create } = net as typeof net & Binding;

/** Binds a port for this socket alone; a number is an error of libuv. */
export function bindInet({
  host,
  port,
  isDual,
}: {
  readonly host: string;
  readonly port: number;
  readonly isDual?: true;
}): BoundSocket | number {
  const isIPv6 = net.isIPv6(host);
  // nginx separates the address families: `listen [::]:80` does not conflict with `listen 80`.
  const bound = create(host, port, isIPv6 ? 6 : 4, undefined, isIPv6 && !isDual ? UV_TCP_IPV6ONLY : 0);
  // libuv delays the error of a bind until the socket listens.
  return typeof bound === 'number' || isBoundTo(bound, port) ? bound : EADDRINUSE;
}

/** Binds an address, replacing a socket file that was left behind; a number is an error of libuv. */
export function bindAddress(address: ListenAddress): BoundSocket | number {
  if (address.kind === 'inet') return bindInet(address);
  removeSocketFile(address);
  // A chmod after the bind could follow a link that has replaced the socket file.
  const before = process.umask(SOCKET_UMASK);
  try {
    return create(address.path, -1, -1);
  } finally {
    process.umask(before);
  }
}

/** Returns a bound or listening socket of this process by its descriptor. Throws if it is none. */
export function wrapSocket(fd: number): BoundSocket {
  const socket = create(null, 0, -1, fd);
  if (typeof socket === 'number') throw new Error(`descriptor ${fd} is no socket that listens`);
  return socket;
}

/**
 * Returns what came with a message if it is a socket as it is. Node.js listens on those that come as a `net.Server`, and
 * reads from those that come as a `net.Socket`.
 */
export function boundSocketOf(handle: SendHandle): BoundSocket | undefined {
  // The types do not say that a handle of libuv can be sent.
  return handle instanceof EventEmitter ? undefined : handle;
}

/** Closes what came with a message. */
export function closeHandle(handle: SendHandle): void {
  if (handle instanceof net.Socket) handle.destroy();
  else handle?.close();
}

/** Returns the port of a socket; `undefined` for a Unix socket. */
export function portOf(socket: BoundSocket): number | undefined {
  const found: { port?: number } = {};
  socket.getsockname?.(found);
  return found.port;
}

function isBoundTo(socket: BoundSocket, port: number): boolean {
  if (portOf(socket) === port) return true;
  socket.close();
  return false;
}
