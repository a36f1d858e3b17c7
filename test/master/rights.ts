import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:tls';
import { type Gateway, type GatewayOptions, type Owner } from '../harness/gateway.ts';
import { startSupervised } from './processes.ts';

/** Only root can change to another account. */
export const IS_ROOT = process.getuid?.() === 0;

const RIGHTS = ['Uid', 'Gid', 'Groups', 'CapPrm', 'CapEff', 'CapAmb'];

/** The id of the account, and the rights of each thread that has changed to it, as `rightsOf` gives them. */
export const NOBODY = idsOf('nobody');

/** A gateway that is started by root and serves as `nobody`. */
export function startAsNobody(
  t: Owner,
  http: Parameters<typeof startSupervised>[1],
  options: GatewayOptions = {},
): Promise<Gateway> {
  return startSupervised(t, http, { main: 'user nobody;', ...options });
}

/** The ids and capabilities of all threads of a process: a single line where they agree. */
export function rightsOf(pid: number): readonly string[] {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
    return RIGHTS.map((name) => `${name} ${fieldOf(status, name)}`).join(', ');
  });
  return [...new Set(threads)];
}

function fieldOf(status: string, name: string): string {
  return new RegExp(`^${name}:(.*)$`, 'm').exec(status)?.[1]?.trim().replaceAll(/\s+/g, ' ') ?? '';
}

function idsOf(name: string): { readonly uid: number; readonly rights: string } {
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`${name}:`));
  const [, , uid = '', gid = ''] = entry?.split(':') ?? [];
  const four = (id: string): string => Array.from({ length: 4 }, () => id).join(' ');
  const none = '0'.repeat(16);
  const values = [four(uid), four(gid), gid, none, none, none];
  return { uid: Number(uid), rights: RIGHTS.map((right, index) => `${right} ${values[index]}`).join(', ') };
}

export function childrenOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
}

/** The number of descriptors that a process has for sockets that listen on a TCP port. */
export function listenersOf(pid: number, port: number): number {
  const address = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const sockets = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(address) && state === '0A')
    .map((fields) => `socket:[${fields[9]}]`);
  const dir = `/proc/${pid}/fd`;
  return readdirSync(dir).filter((fd) => sockets.includes(targetOf(`${dir}/${fd}`))).length;
}

/** A descriptor may be closed while the list is read. */
function targetOf(fd: string): string {
  try {
    return readlinkSync(fd);
  } catch {
    return '';
  }
}

export async function getOverUnix(socketPath: string): Promise<number | undefined> {
  const message = request({ socketPath, path: '/' }).end();
  const [response] = (await once(message, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

/** The names in the certificates that a port presents over several connections. */
export async function peerNames(port: number): Promise<ReadonlySet<unknown>> {
  const names = new Set<unknown>();
  for (let i = 0; i < 8; i++) {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    names.add(socket.getPeerCertificate().subject.CN);
    socket.destroy();
  }
  return names;
}
