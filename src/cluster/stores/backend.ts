import { type ConnectionTarget, readDsn, targetName } from '../../postgres/index.ts';
import {
  AddressFault,
  DEFAULT_PORT,
  type Endpoint,
  endpointsOf,
  type EndpointTls,
  type Login,
  parseRedisAddress,
  parseServerList,
  redisLabel,
} from '../../redis/index.ts';

/** The login and the TLS settings of all servers of a store. */
type Access = Login & EndpointTls;

/** A master that Sentinels know by a name. `access` is for the master and its replicas, not for the Sentinels. */
export interface SentinelBackend {
  readonly kind: 'sentinel';
  readonly sentinels: readonly Endpoint[];
  readonly name: string;
  readonly access: Access;
}

/** A Redis Cluster. `seeds` are some of its servers; `access` is the same for all servers. */
export interface ClusterBackend {
  readonly kind: 'cluster';
  readonly seeds: readonly Endpoint[];
  readonly access: Access;
}

/** A Redis or Valkey. */
export type RedisBackend =
  { readonly kind: 'server'; readonly endpoint: Endpoint } | SentinelBackend | ClusterBackend;

/** The address of the store of a cluster, as plain data. */
export type Backend = RedisBackend | { readonly kind: 'postgres'; readonly target: ConnectionTarget };

const SENTINEL_PORT = 26379;
const SENTINEL = /^(?:(sentinel)(s?)|(redis)(s?)\+sentinel):\/\//i;
const CLUSTER = /^redis(s?)\+cluster:\/\//i;
const MASTER_NAME = /^[A-Za-z0-9._-]{1,128}$/;

/** A connection string of PostgreSQL: a URI, or keywords with values. */
const POSTGRES = /^(?:postgres(?:ql)?:\/\/|\s*[a-z_]+\s*=)/;

/** Parses an address of Redis, Sentinels or a Redis Cluster, or a connection string of PostgreSQL. */
export function parseBackend(text: string): Backend | AddressFault {
  if (POSTGRES.test(text)) return parsePostgres(text);
  const [scheme, , plainTls, , redisTls] = SENTINEL.exec(text) ?? [];
  if (scheme !== undefined)
    return parseSentinels(text.slice(scheme.length), (plainTls ?? redisTls) === '' ? {} : { tls: true });
  const [clusterScheme, clusterTls] = CLUSTER.exec(text) ?? [];
  if (clusterScheme !== undefined)
    return parseCluster(text.slice(clusterScheme.length), clusterTls === '' ? {} : { tls: true });
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) && !/^rediss?:/i.test(text))
    return new AddressFault('has an unknown scheme');
  const address = parseRedisAddress(text);
  if (address instanceof AddressFault) return address;
  const [endpoint] = endpointsOf(address, () => undefined) as [Endpoint];
  return { kind: 'server', endpoint };
}

function parsePostgres(text: string): Backend | AddressFault {
  const target = readDsn(text);
  if (!('fault' in target)) return { kind: 'postgres', target };
  // The message of a fault may quote a part of the text, which may be secret.
  const hint = target.fault.hint === undefined ? '' : `, ${target.fault.hint}`;
  return new AddressFault(`has a malformed connection string${hint}`);
}

/** `user:password@host:port,host/name/db`. The login is for the Redis servers, not for the Sentinels. */
function parseSentinels(text: string, tls: { readonly tls?: true }): Backend | AddressFault {
  const list = parseServerList(text, SENTINEL_PORT);
  if (list instanceof AddressFault) return list;
  const [name = '', db = '', ...rest] = list.path.split('/');
  if (name === '') return new AddressFault('has no name of a master');
  if (!MASTER_NAME.test(name)) return new AddressFault('has an invalid name of a master');
  if (rest.length > 0 || !/^\d{0,5}$/.test(db))
    return new AddressFault('has a path that is not a name and a database number');
  return {
    kind: 'sentinel',
    sentinels: list.servers.map((server) => ({ ...server, ...tls })),
    name,
    access: { ...list.login, ...tls, ...(Number(db) > 0 && { db: Number(db) }) },
  };
}

/** `user:password@host:port,host` */
function parseCluster(text: string, tls: { readonly tls?: true }): Backend | AddressFault {
  const list = parseServerList(text, DEFAULT_PORT);
  if (list instanceof AddressFault) return list;
  if (list.path !== '') return new AddressFault('has a path, but a Redis Cluster has one database');
  const access = { ...list.login, ...tls };
  return { kind: 'cluster', seeds: list.servers.map((server) => ({ ...server, ...access })), access };
}

/** Returns the address for logs, without logins. */
export function backendLabel(backend: Backend): string {
  if (backend.kind === 'postgres') return `postgres://${targetName(backend.target)}`;
  if (backend.kind === 'server') return redisLabel(backend.endpoint);
  if (backend.kind === 'cluster') return `redis+cluster://${backend.seeds.map(redisLabel).join(',')}`;
  return `sentinel://${backend.sentinels.map(redisLabel).join(',')}/${backend.name}`;
}

/** Returns whether the servers are reached over TLS, so that the TLS directives apply. Never true for PostgreSQL. */
export function usesTls(backend: Backend): boolean {
  if (backend.kind === 'postgres') return false;
  const { tls } = backend.kind === 'server' ? backend.endpoint : backend.access;
  return tls === true;
}

/** Adds the TLS settings, if the servers are reached over TLS, and the login of the Sentinels. */
export function withAccess(
  backend: Backend,
  {
    tls = {},
    sentinelLogin = {},
  }: { readonly tls?: EndpointTls; readonly sentinelLogin?: Login | undefined },
): Backend {
  if (backend.kind === 'postgres') return backend;
  const added = usesTls(backend) ? tls : {};
  if (backend.kind === 'server') return { ...backend, endpoint: { ...backend.endpoint, ...added } };
  const access = { ...backend.access, ...added };
  if (backend.kind === 'cluster')
    return { ...backend, seeds: backend.seeds.map((one) => ({ ...one, ...added })), access };
  return {
    ...backend,
    sentinels: backend.sentinels.map((one) => ({ ...one, ...added, ...sentinelLogin })),
    access,
  };
}
