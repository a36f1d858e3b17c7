import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { PieceBuffers } from '../bodies/index.ts';
import {
  type Caches,
  type CacheStore,
  type OtherGateways,
  type PurgeSharing,
  sharePurges,
} from '../cache/index.ts';
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
import type { Clusters } from '../cluster/index.ts';
import { constantText } from '../config/index.ts';
import type { Exchange } from '../http/index.ts';
import type { KeepaliveConfig, UpstreamGroup, Upstreams } from '../upstream/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';
import {
  type CertificateConfig,
  type ClientCertificate,
  compileClientCertificate,
} from './client-certificate.ts';
import type { TryingConfig } from './config.ts';
import type { Target } from './protocol.ts';

/** The upstreams and connections that a location forwards requests through. */
export interface Provisioned {
  readonly upstreams: Upstreams;
  /** Returns the connections to the peers of a group, plain or encrypted. */
  connections(group: UpstreamGroup, isTls: boolean, own?: OwnSettings): Carriers;
  readonly caches: Caches;
  /** Shares purges of caches with the other gateways of a cluster, as the location configures it. */
  sharePurges(stores: readonly CacheStore[], sharing: PurgeSharing): OtherGateways | undefined;
  /** For sending stored responses. */
  readonly buffers: PieceBuffers;
}

/** The part of a worker's scope that `provision` uses. */
interface Scope {
  readonly upstreams: Upstreams;
  readonly caches: Caches;
  readonly clusters: Clusters;
  own<T>(resource: T, close: (resource: T) => void | Promise<void>): T;
  share<T>(key: string, open: () => T, close: (resource: T) => void | Promise<void>): T;
}

/** The way in which connections are used. */
interface Use {
  /** Connections of different protocols are never shared. */
  readonly protocol: string;
  /** Present if connections may be encrypted. */
  readonly tls?: TlsSettings | undefined;
  /** Requests share connections, as streams of HTTP/2. */
  readonly isHttp2?: boolean;
  /** Creates the reader for the responses on one connection. Absent: HTTP/1. */
  readonly reader?: () => ResponseReader;
}

/** The settings of a request that determine which connections it can use. */
interface OwnSettings {
  /** Default: any address. */
  readonly local?: LocalAddress | undefined;
  readonly certificate?: ClientCertificate | undefined;
}

/** Maximum number of connection sets that requests may create by naming local addresses or certificates. */
const MAX_SETS = 1_000;

/** Provisions a location without opening connections. Connections of unchanged groups survive a reload. */
export function provisionForwarding(
  { socketKeepalive }: Pick<TryingConfig, 'socketKeepalive'>,
  scope: Scope,
  use: Use,
): Provisioned {
  const known = new Map<string, Carriers>();
  const certified = new CertifiedSets();
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
    sharePurges: (stores, sharing) => sharePurges(stores, sharing, scope),
    buffers: cacheBuffers(scope),
    connections(group, isTls, { local, certificate } = {}) {
      const set = `${isTls ? 'tls' : 'plain'} ${local?.localAddress ?? ''} ${group.connectionSet}`;
      const hasPort = local?.localPort !== undefined;
      const found = hasPort || certificate ? undefined : known.get(set);
      if (found) return found;
      const settings = { ...settingsOf(use, isTls, certificate), tcpKeepalive: socketKeepalive, ...local };
      // With a fixed port, a connection is useless for the next request.
      if (hasPort) return makeCarriers({ ...group, keepalive: NOT_KEPT }, settings, { ...use, buffer });
      if (certificate)
        return certified.take(`${set} ${certificate.id}`, () =>
          makeCarriers(group, settings, { ...use, buffer }),
        );
      if (known.size >= MAX_SETS) throw new Error('requests name too many different local addresses');
      const opened = open(group, settings);
      known.set(set, opened);
      return opened;
    },
  };
}

function cacheBuffers(scope: Scope): PieceBuffers {
  return scope.share(
    'forwarding: cache buffers',
    () => new PieceBuffers(),
    () => undefined,
  );
}

/** The connection sets of certificates whose names depend on requests, in the order of their last use. */
class CertifiedSets {
  readonly #sets = new Map<string, Carriers>();

  take(name: string, make: () => Carriers): Carriers {
    const carriers = this.#sets.get(name) ?? make();
    this.#sets.delete(name);
    this.#sets.set(name, carriers);
    const [oldest] = this.#sets;
    if (oldest && this.#sets.size > MAX_SETS) {
      this.#sets.delete(oldest[0]);
      oldest[1].close();
    }
    return carriers;
  }
}

function settingsOf(
  { isHttp2, tls }: Use,
  isTls: boolean,
  certificate: ClientCertificate | undefined,
): Pick<ConnectorSettings, 'protocol' | 'tls'> {
  const shown = certificate && { cert: certificate.cert, key: certificate.key };
  return { ...(isHttp2 && { protocol: 'h2' }), ...(isTls && tls && { tls: { ...tls, ...shown } }) };
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
  // The settings contain keys and certificates, and the keys of resources may be logged, so a digest is used.
  const digest = createHash('sha256')
    .update(JSON.stringify([keepalive, settings]))
    .digest('hex');
  return `${protocol} ${connectionSet} ${digest}`;
}

interface Tools {
  readonly config: Pick<TryingConfig, 'bind'> & Partial<CertificateConfig>;
  readonly provisioned: Provisioned;
  readonly build: Pick<ForwardingBuild, 'value'>;
}

/** Compiles the own settings of requests: one object if all requests share it, otherwise a function. */
function compileOwnSettings({ config, build }: Tools): OwnSettings | ((x: Exchange) => OwnSettings) {
  const local = compileLocalAddress(config, build);
  const certificate = compileClientCertificate(config, build);
  if (certificate === undefined && typeof local !== 'function') return { local };
  return (x) => ({ local: typeof local === 'function' ? local(x) : local, certificate: certificate?.(x) });
}

function compileLocalAddress(
  { bind }: Pick<TryingConfig, 'bind'>,
  build: Pick<ForwardingBuild, 'value'>,
): LocalAddress | undefined | ((x: Exchange) => LocalAddress | undefined) {
  if (bind === undefined || bind === 'off') return undefined;
  const fixed = constantText(bind);
  if (fixed !== undefined) return readLocalAddress(fixed);
  const render = build.value(bind);
  return (x) => {
    const text = render(x);
    const local = readLocalAddress(text);
    if (!local && text !== '') x.writeLog(`invalid local address "${text}"`);
    return local;
  };
}

/** Compiles the function that returns the connections for a request to a group. */
export function compileConnections(
  tools: Tools,
): (x: Exchange, group: UpstreamGroup, isTls: boolean) => Carriers {
  const { provisioned } = tools;
  const own = compileOwnSettings(tools);
  if (typeof own !== 'function') return (_x, group, isTls) => provisioned.connections(group, isTls, own);
  return (x, group, isTls) => provisioned.connections(group, isTls, own(x));
}

/** Compiles the target of a location whose upstream is known at load time. */
export function compileKnownTarget<T extends Target>(
  target: Omit<T, 'connections'> & Pick<T, 'group'>,
  isTls: boolean,
  tools: Tools,
): (x: Exchange) => T {
  const own = compileOwnSettings(tools);
  if (typeof own === 'function' || own.local?.localPort !== undefined) {
    const connectionsOf = compileConnections(tools);
    return (x) => ({ ...target, connections: connectionsOf(x, target.group, isTls) }) as T;
  }
  const connections = tools.provisioned.connections(target.group, isTls, own);
  const whole = { ...target, connections } as T;
  return () => whole;
}

/** The address from which connections to an upstream are made (`proxy_bind`). */
interface LocalAddress {
  readonly localAddress: string;
  readonly localPort?: number;
}

const WITH_PORT = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/;
const MAX_PORT = 65_535;

/** Reads an IP address with or without a port, as nginx's `ngx_parse_addr_port`; `undefined` for any other text. */
export function readLocalAddress(text: string): LocalAddress | undefined {
  if (isIP(text) > 0) return { localAddress: text };
  const [, v6, v4 = '', digits] = WITH_PORT.exec(text) ?? [];
  const localAddress = v6 ?? v4;
  const localPort = Number(digits);
  if (isIP(localAddress) !== (v6 === undefined ? 4 : 6) || localPort > MAX_PORT) return undefined;
  return localPort === 0 ? { localAddress } : { localAddress, localPort };
}
