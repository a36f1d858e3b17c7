import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { endianness } from 'node:os';

/** Where a socket listens. */
type SocketAddress =
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
  const places = listeners();
  const sockets: ListeningSocket[] = [];
  for (const [inode, fd] of descriptorsOfSockets()) {
    const key = keys.get(places.get(inode) ?? '');
    if (key !== undefined) sockets.push({ key, fd });
  }
  return sockets;
}

/** Tells whether a descriptor of this process is a socket that listens at the address. */
export function listensAt(fd: number, address: SocketAddress): boolean {
  return listeners().get(inodeOf(fd) ?? '') === placeOf(address);
}

/** Returns the descriptor of the socket on which this process listens at a port of 127.0.0.1. */
export function descriptorOfLocalPort(port: number): number | undefined {
  const address = { kind: 'inet', host: '127.0.0.1', port } as const;
  return listeningSockets([{ key: '', address }])[0]?.fd;
}

/** Returns the inode of the socket with this descriptor in this process; `undefined` if it is no socket. */
function inodeOf(fd: number): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
  } catch {
    return undefined;
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

/** Address and port, or path, of every listening socket of the network namespace, by its inode. */
function listeners(): ReadonlyMap<string, string> {
  return new Map([...inetListeners(), ...unixListeners()]);
}

function placeOf(address: SocketAddress): string {
  if (address.kind === 'unix') return address.path;
  return `${isIPv6(address.host) ? ipv6Text(address.host) : address.host} ${address.port}`;
}

/** The state TCP_LISTEN in /proc/net/tcp. */
const LISTENING = '0A';

function* inetListeners(): Generator<readonly [inode: string, place: string]> {
  for (const name of ['tcp', 'tcp6']) {
    for (const line of linesOf(name)) {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
      const [host = '', port = ''] = local.split(':');
      if (state === LISTENING && inode !== undefined && inode !== '0')
        yield [inode, `${hostOf(host)} ${Number.parseInt(port, 16)}`];
    }
  }
}

/** The flag of listening sockets in /proc/net/unix (`__SO_ACCEPTCON`). */
const ACCEPTS = 0x1_00_00;

function* unixListeners(): Generator<readonly [inode: string, place: string]> {
  for (const line of linesOf('unix')) {
    const [, flags = '', inode, path] = /^\S+ \S+ \S+ (\S+) \S+ \S+ +(\d+) (.*)$/.exec(line) ?? [];
    if (inode !== undefined && path !== undefined && (Number.parseInt(flags, 16) & ACCEPTS) !== 0)
      yield [inode, path];
  }
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
