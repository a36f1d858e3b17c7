import { createHash } from 'node:crypto';
import { constantText } from '../../config/index.ts';
import type { WorkerScope } from '../../contract/index.ts';
import type { CacheStore } from '../../cache/index.ts';
import { PieceBuffers } from '../../send-file.ts';
import type { UpstreamGroup, Upstreams } from '../../upstream/index.ts';
import { openCaches } from './cache/caches.ts';
import { Connections } from './client/keepalive.ts';
import { readBuffer } from './client/inlet.ts';
import { Connector, type ConnectorSettings, type TlsSettings } from './client/connector.ts';
import type { ProxyConfig, TlsVersion } from './config.ts';

/** The upstreams and connections that a location forwards requests through. */
export interface Provisioned {
  readonly upstreams: Upstreams;
  /** Gives the connections to the peers of a group, for one scheme and one local address ('': any). */
  connections(group: UpstreamGroup, scheme: 'http' | 'https', localAddress?: string): Connections;
  /** The caches that the location may use, by their names. */
  readonly caches: ReadonlyMap<string, CacheStore>;
  /** For sending stored responses. */
  readonly buffers: PieceBuffers;
}

/** Maximum number of connection sets that requests may create by naming local addresses. */
const MAX_SETS = 1_000;

/** Opens no connection yet. The connections of groups that do not change outlive a reload. */
export function provision(config: ProxyConfig, worker: WorkerScope): Provisioned {
  const tls = config.pass ? tlsSettings(config) : undefined;
  const known = new Map<string, Connections>();
  const buffer = worker.share('proxy: read buffer', readBuffer, () => undefined);
  const open = (group: UpstreamGroup, settings: ConnectorSettings): Connections =>
    worker.share(
      keyOf(group, settings),
      () => new Connections(new Connector(settings, buffer), group.keepalive),
      (connections) => connections.close(),
    );
  return {
    upstreams: worker.upstreams,
    caches: openCaches(config, worker),
    buffers: worker.share(
      'proxy: cache buffers',
      () => new PieceBuffers(),
      () => undefined,
    ),
    connections(group, scheme, localAddress = '') {
      const set = `${scheme} ${localAddress} ${group.connectionSet}`;
      const found = known.get(set);
      if (found) return found;
      if (known.size >= MAX_SETS) throw new Error('requests name too many different local addresses');
      const settings: ConnectorSettings = {
        tcpKeepalive: config.socketKeepalive,
        ...(localAddress !== '' && { localAddress }),
        ...(scheme === 'https' && tls && { tls }),
      };
      const opened = open(group, settings);
      known.set(set, opened);
      return opened;
    },
  };
}

function keyOf({ connectionSet, keepalive }: UpstreamGroup, settings: ConnectorSettings): string {
  // The settings contain keys and certificates, and the keys of resources may be logged: hence a digest.
  const digest = createHash('sha256')
    .update(JSON.stringify([keepalive, settings]))
    .digest('hex');
  return `proxy ${connectionSet} ${digest}`;
}

const VERSIONS: readonly TlsVersion[] = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

function tlsSettings(config: ProxyConfig): TlsSettings {
  const command = new Map(config.sslConfCommands);
  const [lowest = 'TLSv1.2'] = VERSIONS.filter((version) => config.sslProtocols.includes(version));
  const highest = VERSIONS.findLast((version) => config.sslProtocols.includes(version)) ?? 'TLSv1.3';
  const { sslPasswordFile } = config;
  return {
    passphrases: sslPasswordFile?.text.split('\n').filter(Boolean) ?? [],
    ciphers: command.get('CipherString') ?? config.sslCiphers,
    minVersion: versionOf(command.get('MinProtocol')) ?? lowest,
    maxVersion: versionOf(command.get('MaxProtocol')) ?? highest,
    verify: config.sslVerify,
    verifyDepth: config.sslVerifyDepth,
    reuseSessions: config.sslSessionReuse,
    ...textOf('ca', config.sslTrustedCertificate?.text),
    ...textOf('crl', config.sslCrl?.text),
    ...textOf('cert', config.sslCertificate?.text),
    ...textOf('key', config.sslCertificateKey?.text),
    ...textOf('ciphersuites', command.get('Ciphersuites')),
    ...textOf('groups', command.get('Groups') ?? command.get('Curves')),
  };
}

function versionOf(name: string | undefined): TlsVersion | undefined {
  return VERSIONS.find((version) => version === name);
}

function textOf<K extends string>(field: K, text: string | undefined): Partial<Record<K, string>> {
  return (text === undefined ? {} : { [field]: text }) as Partial<Record<K, string>>;
}

/** Gives the local address that all requests share ('': any); `undefined` if it depends on the request. */
export function fixedLocalAddress({ bind }: ProxyConfig): string | undefined {
  if (bind === undefined || bind === 'off') return '';
  return constantText(bind);
}
