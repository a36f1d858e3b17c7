import {
  AddressFault,
  type Endpoint,
  endpointsOf,
  type EndpointTls,
  type Login,
  parseRedisAddress,
  parseServerList,
  redisLabel,
} from '../redis/index.ts';

/** The login and the TLS settings of all servers of a store. */
type Access = Login & EndpointTls;

/** The master of a name that Sentinels know. `access` is that of the master and its replicas. */
export interface SentinelBackend {
  readonly kind: 'sentinel';
  readonly sentinels: readonly Endpoint[];
  readonly name: string;
  readonly access: Access;
}

/** Where the store of a cluster is, as plain data. */
export type Backend = { readonly kind: 'server'; readonly endpoint: Endpoint } | SentinelBackend;

const SENTINEL_PORT = 26379;
const SENTINEL = /^(?:(sentinel)(s?)|(redis)(s?)\+sentinel):\/\//i;
const MASTER_NAME = /^[A-Za-z0-9._-]{1,128}$/;

/** Parses `redis://…`, `rediss://…`, `unix:/path`, `host:port` or `sentinel://…`. */
export function parseBackend(text: string): Backend | AddressFault {
  const [scheme, , plainTls, , redisTls] = SENTINEL.exec(text) ?? [];
  if (scheme !== undefined)
    return parseSentinels(text.slice(scheme.length), (plainTls ?? redisTls) === '' ? {} : { tls: true });
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) && !/^rediss?:/i.test(text))
    return new AddressFault('has an unknown scheme');
  const address = parseRedisAddress(text);
  if (address instanceof AddressFault) return address;
  const [endpoint] = endpointsOf(address, () => undefined) as [Endpoint];
  return { kind: 'server', endpoint };
}

/** `user:password@host:port,host/name/db`. The login is that of the servers, not that of the Sentinels. */
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

/** Gives the text for logs, without logins. */
export function backendLabel(backend: Backend): string {
  if (backend.kind === 'server') return redisLabel(backend.endpoint);
  return `sentinel://${backend.sentinels.map(redisLabel).join(',')}/${backend.name}`;
}

/** Tells whether the store is reached over TLS. */
export function usesTls(backend: Backend): boolean {
  const { tls } = backend.kind === 'server' ? backend.endpoint : backend.access;
  return tls === true;
}

/** Adds how TLS is spoken to the servers, if it is, and the login of the Sentinels. */
export function withAccess(
  backend: Backend,
  {
    tls = {},
    sentinelLogin = {},
  }: { readonly tls?: EndpointTls; readonly sentinelLogin?: Login | undefined },
): Backend {
  const added = usesTls(backend) ? tls : {};
  if (backend.kind === 'server') return { ...backend, endpoint: { ...backend.endpoint, ...added } };
  const { sentinels, access } = backend;
  return {
    ...backend,
    sentinels: sentinels.map((one) => ({ ...one, ...added, ...sentinelLogin })),
    access: { ...access, ...added },
  };
}
