import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { DirectiveNode } from '../../../grammar/index.ts';
import type { BlockView } from '../../config/index.ts';
import {
  type CheckedConfig,
  configOf,
  type FileName,
  type ListenConfig,
  nodesOf,
  type SslConfig,
} from '../../contract/index.ts';
import { addressText } from '../../plan/index.ts';

/** A server on a socket, and its `listen`. */
export interface Listener {
  readonly server: BlockView;
  readonly listen: ListenConfig;
  readonly node: DirectiveNode;
}

/** An address with its servers in file order. */
interface Socket {
  readonly address: string;
  readonly listeners: readonly Listener[];
}

/** The sockets of all `listen` directives. Servers without `listen` are left out. */
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

/** Returns whether a `listen` uses TLS: by its own parameter, or by `ssl on`. */
export function speaksTls({ server, listen }: Listener): boolean {
  return listen.ssl ?? sslOf(server).enabled;
}

/** The TLS settings of a server. */
export function sslOf(server: BlockView): SslConfig {
  return configOf(server.level, 'ssl');
}

/** A certificate of a server, and its directive. */
export interface ShownCertificate {
  readonly node: DirectiveNode;
  readonly file: FileName;
  /** The first certificate in the file, which is the server's own. */
  readonly certificate: X509Certificate;
}

/** The servers with TLS on some of their addresses. */
export function tlsServers(config: CheckedConfig): readonly BlockView[] {
  return config
    .blocks('server')
    .filter((server) => sslOf(server).enabled || listensOf(server).some(({ ssl }) => ssl));
}

/** The `listen` configs of a server. */
function listensOf(server: BlockView): readonly ListenConfig[] {
  return configOf(server.level, 'core').listens ?? [];
}

/** Returns whether a server has plain HTTP on some of its addresses. */
export function speaksPlain(server: BlockView): boolean {
  const listens = listensOf(server);
  return !sslOf(server).enabled && (listens.length === 0 || listens.some(({ ssl }) => !ssl));
}

/** The certificates of a server that can be read; the others are faults of the load. */
export function certificatesOf(server: BlockView): readonly ShownCertificate[] {
  const nodes = nodesOf(server, 'ssl', 'certificates');
  return (sslOf(server).certificates ?? []).flatMap((file, index) => {
    const node = nodes[index];
    const certificate = readCertificate(file.path);
    return node && certificate ? [{ node, file, certificate }] : [];
  });
}

/** The modules whose certificates are shown to peers. */
const TO_PEERS = ['proxy', 'grpc', 'uwsgi', 'kv'];

/** The certificates that gw shows to its peers, as far as they can be read and have no variables in their names. */
export function clientCertificatesOf(config: CheckedConfig): readonly ShownCertificate[] {
  return TO_PEERS.flatMap((owner) =>
    config.uses(`${owner}_ssl_certificate`).flatMap(({ node, block }) => {
      const { sslCertificate: file } = (block.level.get(owner)?.value ?? {}) as {
        sslCertificate?: Pick<FileName, 'path' | 'named'>;
      };
      const certificate = file && !file.named && readCertificate(file.path);
      return certificate
        ? [{ node, file: { text: node.args[0]?.value ?? '', path: file.path }, certificate }]
        : [];
    }),
  );
}

function readCertificate(path: string): X509Certificate | undefined {
  try {
    // Reading a pipe again would give nothing.
    return statSync(path).isFile() ? new X509Certificate(readFileSync(path)) : undefined;
  } catch {
    return undefined;
  }
}

/** The directives of these names that hold in one of the servers, each once. */
export function heldBy(servers: readonly BlockView[], ...names: readonly string[]): readonly DirectiveNode[] {
  return [...new Set(servers.flatMap((server) => server.effective(...names)))];
}
