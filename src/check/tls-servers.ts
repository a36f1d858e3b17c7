import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DirectiveNode } from '../../grammar/index.ts';
import type { BlockView } from '../config/index.ts';
import type { CoreConfig, FileName, ListenConfig, SslConfig } from '../contract/index.ts';
import type { CheckedConfig } from './rule.ts';

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
export function listensOf(server: BlockView): readonly ListenConfig[] {
  return (server.config('core') as Partial<CoreConfig>).listens ?? [];
}

/** Whether a server speaks plain HTTP on some of its addresses. */
export function speaksPlain(server: BlockView): boolean {
  const listens = listensOf(server);
  return !sslOf(server).enabled && (listens.length === 0 || listens.some(({ ssl }) => !ssl));
}

/** The TLS settings that hold in a server. */
export function sslOf(server: BlockView): SslConfig {
  return server.config('ssl') as unknown as SslConfig;
}

/** The certificates of a server whose files can be read; the others are faults of the load. */
export function certificatesOf(server: BlockView): readonly ShownCertificate[] {
  const nodes = server.from('ssl').get('certificates')?.nodes ?? [];
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
