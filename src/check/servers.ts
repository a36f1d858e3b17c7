import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DirectiveNode } from '../../grammar/index.ts';
import type { BlockView } from '../config/index.ts';
import {
  type CheckedConfig,
  configOf,
  type FileName,
  type ListenConfig,
  nodesOf,
  type SslConfig,
} from '../contract/index.ts';
import { addressText } from '../plan/index.ts';

/** A server on a socket, and the `listen` that put it there. */
export interface Listener {
  readonly server: BlockView;
  readonly listen: ListenConfig;
  readonly node: DirectiveNode;
}

/** An address that servers listen on, in the order of the file. */
interface Socket {
  readonly address: string;
  readonly listeners: readonly Listener[];
}

/** The sockets that some `listen` asks for; a server without any is on none of them. */
export function socketsOf(config: CheckedConfig): readonly Socket[] {
  const sockets = new Map<string, Listener[]>();
  for (const server of config.blocks('server')) {
    const { listens = [] } = configOf(server.level, 'core');
    const nodes = nodesOf(server, 'core', 'listens');
    for (const [index, listen] of listens.entries()) {
      const node = nodes[index];
      if (!node || listen.quic) continue;
      const address = addressText(listen.address);
      const listeners = sockets.get(address) ?? [];
      sockets.set(address, listeners);
      listeners.push({ server, listen, node });
    }
  }
  return [...sockets].map(([address, listeners]) => ({ address, listeners }));
}

/** A `listen` that asks for TLS: by its own word, or by `ssl on` for the whole server. */
export function speaksTls({ server, listen }: Listener): boolean {
  return listen.ssl ?? sslOf(server).enabled;
}

/** The TLS settings of a server. */
export function sslOf(server: BlockView): SslConfig {
  return configOf(server.level, 'ssl');
}

/** A certificate that a server shows, and the directive that names it. */
export interface ShownCertificate {
  readonly node: DirectiveNode;
  readonly file: FileName;
  /** The first of the file: the server's own. */
  readonly certificate: X509Certificate;
}

/** The servers that speak TLS on some of their addresses. */
export function tlsServers(config: CheckedConfig): readonly BlockView[] {
  return config
    .blocks('server')
    .filter((server) => sslOf(server).enabled || listensOf(server).some(({ ssl }) => ssl));
}

/** The `listen` directives of a server, read. */
function listensOf(server: BlockView): readonly ListenConfig[] {
  return configOf(server.level, 'core').listens ?? [];
}

/** Whether a server speaks plain HTTP on some of its addresses. */
export function speaksPlain(server: BlockView): boolean {
  const listens = listensOf(server);
  return !sslOf(server).enabled && (listens.length === 0 || listens.some(({ ssl }) => !ssl));
}

/** The certificates of a server whose files can be read; the others are faults of the load. */
export function certificatesOf(server: BlockView): readonly ShownCertificate[] {
  const nodes = nodesOf(server, 'ssl', 'certificates');
  return (sslOf(server).certificates ?? []).flatMap((file, index) => {
    const node = nodes[index];
    const certificate = readCertificate(file.path);
    return node && certificate ? [{ node, file, certificate }] : [];
  });
}

function readCertificate(path: string): X509Certificate | undefined {
  try {
    return new X509Certificate(readFileSync(path));
  } catch {
    return undefined;
  }
}

/** What servers share by inheritance, once: the directives of these names that hold in one of them. */
export function heldBy(servers: readonly BlockView[], ...names: readonly string[]): readonly DirectiveNode[] {
  return [...new Set(servers.flatMap((server) => server.effective(...names)))];
}
