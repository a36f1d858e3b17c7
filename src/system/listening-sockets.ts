import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { endianness } from 'node:os';

/** Where a socket listens. */
export type SocketAddress =
  | { readonly kind: 'inet'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

interface NamedSocketAddress {
  readonly key: string;
  readonly address: SocketAddress;
}

/** A listening socket of this process. */
interface ListeningSocket {
  readonly key: string;
  readonly fd: number;
}

/**
 * Finds the sockets on which this process listens at these addresses, whichever thread has opened them, each once. Only
 * Linux tells (`proc_pid_net(5)`); elsewhere this throws.
 */
export function listeningSockets(addresses: readonly NamedSocketAddress[]): readonly ListeningSocket[] {
  const keys = new Map(addresses.map(({ key, address }) => [placeOf(address), key]));
  const places = placesOf(new Set(addresses.map(({ address }) => address.kind)));
  const sockets: ListeningSocket[] = [];
  for (const [inode, fd] of descriptorsOfSockets()) {
    const key = keys.get(places.get(inode) ?? '');
    if (key !== undefined) sockets.push({ key, fd });
  }
  return sockets;
}

/** Tells whether a descriptor of this process is a socket that listens at the address. */
export function listensAt(fd: number, address: SocketAddress): boolean {
  return placesOf(new Set([address.kind])).get(inodeOf(fd) ?? '') === placeOf(address);
}

/**
 * Tells whether another process has a socket that listens at one of these ports, on any address; `undefined` if the
 * system does not tell, as of a process of another account without CAP_SYS_PTRACE.
 */
export function listensOn(pid: number, ports: ReadonlySet<number>): boolean | undefined {
  const places = placesOf(new Set(['inet']));
  try {
    for (const name of readdirSync(`/proc/${pid}/fd`)) {
      const [, port] = (places.get(inodeOf(name, pid) ?? '') ?? '').split(' ');
      if (port !== undefined && ports.has(Number(port))) return true;
    }
    return false;
  } catch (error) {
    return hasEnded(error) ? false : undefined;
  }
}

function hasEnded(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH');
}

/** Returns the descriptor of the socket on which this process listens at a port of 127.0.0.1. */
export function descriptorOfLocalPort(port: number): number | undefined {
  const address = { kind: 'inet', host: '127.0.0.1', port } as const;
  return listeningSockets([{ key: '', address }])[0]?.fd;
}

/**
 * Returns the inode of the socket with this descriptor; `undefined` if it is no socket, or closed by now. Throws if the
 * system does not tell.
 */
function inodeOf(fd: number | string, process: number | 'self' = 'self'): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${process}/fd/${fd}`))?.[1];
  } catch (error) {
    if (hasEnded(error)) return undefined;
    throw error;
  }
}

/** Returns a descriptor for each socket of this process, by its inode. Copies of a socket have the same inode. */
function descriptorsOfSockets(): ReadonlyMap<string, number> {
  const descriptors = new Map<string, number>();
  for (const name of readdirSync('/proc/self/fd')) {
    const inode = inodeOf(Number(name));
    if (inode !== undefined) descriptors.set(inode, Number(name));
  }
  return descriptors;
}

/**
 * Returns where the sockets of the network namespace listen, by their inodes; '' for those that do not. Any account can
 * forge lines in the table of Unix sockets (see `unixSockets`), so it says nothing about those of the other tables.
 */
function placesOf(kinds: ReadonlySet<SocketAddress['kind']>): ReadonlyMap<string, string> {
  if (!kinds.has('unix')) return new Map(inetSockets(['tcp', 'tcp6']));
  return new Map([...unixSockets(), ...inetSockets(['tcp', 'tcp6', 'udp', 'udp6'])]);
}

function placeOf(address: SocketAddress): string {
  if (address.kind === 'unix') return unixPlace(address.path);
  return inetPlace(isIPv6(address.host) ? ipv6Text(address.host) : address.host, address.port);
}

function unixPlace(path: string): string {
  return `unix:${path}`;
}

function inetPlace(host: string, port: number): string {
  return `${host} ${port}`;
}

/** The state TCP_LISTEN in /proc/net/tcp. */
const LISTENING = '0A';

function* inetSockets(names: readonly string[]): Generator<readonly [inode: string, place: string]> {
  for (const name of names) {
    for (const line of linesOf(name)) {
      const [, local = '', , state, , , , , , inode = '0'] = line.trim().split(/\s+/);
      const [host = '', port = ''] = local.split(':');
      const listens = state === LISTENING;
      if (inode !== '0') yield [inode, listens ? inetPlace(hostOf(host), Number.parseInt(port, 16)) : ''];
    }
  }
}

/** The flag of listening sockets in /proc/net/unix (`__SO_ACCEPTCON`). */
const ACCEPTS = 0x1_00_00;
/** Flags, inode and path; a socket without an address has no path. */
const UNIX_SOCKET = /^[0-9a-f]+: [0-9A-F]{8} 0{8} ([0-9A-F]{8}) [0-9A-F]{4} [0-9A-F]{2} +(\d+)(?: (.+))?$/;

/**
 * The kernel does not escape paths: one with a line break makes two lines, the second of which may say anything. Every
 * Unix socket also has its own line, so an inode that several lines claim has no place.
 */
function unixSockets(): ReadonlyMap<string, string> {
  const places = new Map<string, string>();
  for (const line of linesOf('unix')) {
    const [, flags = '', inode, path] = UNIX_SOCKET.exec(line) ?? [];
    if (inode === undefined) continue;
    const listens = path !== undefined && (Number.parseInt(flags, 16) & ACCEPTS) !== 0;
    places.set(inode, listens && !places.has(inode) ? unixPlace(path) : '');
  }
  return places;
}

function linesOf(name: string): readonly string[] {
  try {
    return readFileSync(`/proc/self/net/${name}`, 'utf8').split('\n').slice(1);
  } catch (error) {
    // A system without IPv6 has no such file.
    if (name !== 'tcp') return [];
    throw error;
  }
}

/** Returns the address of /proc/net/tcp as text; its words have the byte order of the machine. */
function hostOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => {
    const inOrder = [...Buffer.from(word, 'hex')];
    return endianness() === 'LE' ? inOrder.reverse() : inOrder;
  });
  if (bytes.length === 4) return bytes.join('.');
  const groups = Buffer.from(bytes).toString('hex').match(/.{4}/g) ?? [];
  return ipv6Text(groups.join(':'));
}

/** Returns the shortest form of an address. */
function ipv6Text(host: string): string {
  return new URL(`http://[${host}]`).hostname.slice(1, -1);
}
