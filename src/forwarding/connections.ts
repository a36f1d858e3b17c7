import { createHash } from 'node:crypto';
import {
  type Carriers,
  Connections,
  Connector,
  type ConnectorSettings,
  Http2Connections,
  readBuffer,
  type ResponseReader,
  type TlsSettings,
} from '../client/index.ts';
import type { Caches } from '../cache/index.ts';
import { type ComplexValue, constantText } from '../config/index.ts';
import type { Exchange } from '../http/index.ts';
import { PieceBuffers } from '../send-file.ts';
import type { KeepaliveConfig, UpstreamGroup, Upstreams } from '../upstream/index.ts';
import type { ForwardingBuild } from './build.ts';
import type { TryingConfig } from './config.ts';
import { type LocalAddress, readLocalAddress } from './local-address.ts';
import type { Target } from './protocol.ts';

/** The upstreams and connections that a location forwards requests through. */
export interface Provisioned {
  readonly upstreams: Upstreams;
  /** Gives the connections to the peers of a group, plain or encrypted, from one local address (default: any). */
  connections(group: UpstreamGroup, isTls: boolean, local?: LocalAddress): Carriers;
  readonly caches: Caches;
  /** For sending stored responses. */
  readonly buffers: PieceBuffers;
}

/** What `provision` is handed for one worker. */
interface Scope {
  readonly upstreams: Upstreams;
  readonly caches: Caches;
  share<T>(key: string, open: () => T, close: (resource: T) => void | Promise<void>): T;
}

/** How connections are used. */
interface Use {
  /** Connections of different protocols are never shared. */
  readonly protocol: string;
  /** Present if connections may be encrypted. */
  readonly tls?: TlsSettings | undefined;
  /** Requests share connections, as streams of HTTP/2. */
  readonly isHttp2?: boolean;
  /** Makes what reads the responses on one connection; absent: HTTP/1. */
  readonly reader?: () => ResponseReader;
}

/** Maximum number of connection sets that requests may create by naming local addresses. */
const MAX_SETS = 1_000;

/** Opens no connection yet. The connections of groups that do not change outlive a reload. */
export function provisionForwarding(
  { socketKeepalive }: Pick<TryingConfig, 'socketKeepalive'>,
  scope: Scope,
  use: Use,
): Provisioned {
  const known = new Map<string, Carriers>();
  const buffer = scope.share('forwarding: read buffer', readBuffer, () => undefined);
  const open = (group: UpstreamGroup, settings: ConnectorSettings): Carriers =>
    scope.share(
      keyOf(group, { protocol: use.protocol, settings }),
      () => makeCarriers(group, settings, { ...use, buffer }),
      (connections) => connections.close(),
    );
  return {
    upstreams: scope.upstreams,
    caches: scope.caches,
    buffers: scope.share(
      'forwarding: cache buffers',
      () => new PieceBuffers(),
      () => undefined,
    ),
    connections(group, isTls, local) {
      const set = `${isTls ? 'tls' : 'plain'} ${local?.localAddress ?? ''} ${group.connectionSet}`;
      const hasPort = local?.localPort !== undefined;
      const found = hasPort ? undefined : known.get(set);
      if (found) return found;
      const settings = { ...settingsOf(use, isTls), tcpKeepalive: socketKeepalive, ...local };
      // The port of one connection is of no use to the next request.
      if (hasPort) return makeCarriers({ ...group, keepalive: NOT_KEPT }, settings, { ...use, buffer });
      if (known.size >= MAX_SETS) throw new Error('requests name too many different local addresses');
      const opened = open(group, settings);
      known.set(set, opened);
      return opened;
    },
  };
}

function settingsOf({ isHttp2, tls }: Use, isTls: boolean): Pick<ConnectorSettings, 'protocol' | 'tls'> {
  return { ...(isHttp2 && { protocol: 'h2' }), ...(isTls && tls && { tls }) };
}

const NOT_KEPT: KeepaliveConfig = { connections: 0, requests: 1, timeMs: 0, timeoutMs: 0 };

function makeCarriers(
  { keepalive }: Pick<UpstreamGroup, 'keepalive'>,
  settings: ConnectorSettings,
  { isHttp2, reader, buffer }: Use & { readonly buffer: Buffer },
): Carriers {
  if (isHttp2) return new Http2Connections(new Connector(settings), keepalive);
  return new Connections(new Connector(settings, buffer), keepalive, reader);
}

function keyOf(
  { connectionSet, keepalive }: UpstreamGroup,
  { protocol, settings }: { readonly protocol: string; readonly settings: ConnectorSettings },
): string {
  // The settings contain keys and certificates, and the keys of resources may be logged: hence a digest.
  const digest = createHash('sha256')
    .update(JSON.stringify([keepalive, settings]))
    .digest('hex');
  return `${protocol} ${connectionSet} ${digest}`;
}

/** Gives the local address that all requests share; `undefined` if it depends on the request. */
function fixedLocalAddress({ bind }: Pick<TryingConfig, 'bind'>): LocalAddress | 'any' | undefined {
  if (bind === undefined || bind === 'off') return 'any';
  const fixed = constantText(bind);
  return fixed === undefined ? undefined : (readLocalAddress(fixed) ?? 'any');
}

interface Tools {
  readonly config: Pick<TryingConfig, 'bind'>;
  readonly provisioned: Provisioned;
  readonly build: Pick<ForwardingBuild, 'value'>;
}

/** Compiles what gives the connections of a request to a group. */
export function compileConnections({
  config,
  provisioned,
  build,
}: Tools): (x: Exchange, group: UpstreamGroup, isTls: boolean) => Carriers {
  const fixed = fixedLocalAddress(config);
  if (fixed !== undefined) return (_x, group, isTls) => provisioned.connections(group, isTls, given(fixed));
  const render = build.value(config.bind as ComplexValue);
  return (x, group, isTls) => {
    const text = render(x);
    const local = readLocalAddress(text);
    if (!local && text !== '') x.writeLog(`invalid local address "${text}"`);
    return provisioned.connections(group, isTls, local);
  };
}

function given(local: LocalAddress | 'any'): LocalAddress | undefined {
  return local === 'any' ? undefined : local;
}

/** Compiles the target of a location whose upstream is known at load time. */
export function compileKnownTarget<T extends Target>(
  target: Omit<T, 'connections'> & Pick<T, 'group'>,
  isTls: boolean,
  tools: Tools,
): (x: Exchange) => T {
  const fixed = fixedLocalAddress(tools.config);
  if (fixed === undefined || (fixed !== 'any' && fixed.localPort !== undefined)) {
    const connectionsOf = compileConnections(tools);
    return (x) => ({ ...target, connections: connectionsOf(x, target.group, isTls) }) as T;
  }
  const connections = tools.provisioned.connections(target.group, isTls, given(fixed));
  const whole = { ...target, connections } as T;
  return () => whole;
}
