import { createHash } from 'node:crypto';
import {
  Connections,
  Connector,
  type ConnectorSettings,
  readBuffer,
  tlsSettings,
} from '../../client/index.ts';
import { constantText } from '../../config/index.ts';
import type { WorkerScope } from '../../contract/index.ts';
import type { Caches } from '../../cache/index.ts';
import { PieceBuffers } from '../../send-file.ts';
import type { UpstreamGroup, Upstreams } from '../../upstream/index.ts';
import type { ProxyConfig } from './config.ts';

/** The upstreams and connections that a location forwards requests through. */
export interface Provisioned {
  readonly upstreams: Upstreams;
  /** Gives the connections to the peers of a group, for one scheme and one local address ('': any). */
  connections(group: UpstreamGroup, scheme: 'http' | 'https', localAddress?: string): Connections;
  readonly caches: Caches;
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
    caches: worker.caches,
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

/** Gives the local address that all requests share ('': any); `undefined` if it depends on the request. */
export function fixedLocalAddress({ bind }: ProxyConfig): string | undefined {
  if (bind === undefined || bind === 'off') return '';
  return constantText(bind);
}
