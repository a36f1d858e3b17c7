import type { ContextSettings } from '../system/index.ts';
import type { AddressRule } from '../upstream/index.ts';

/** The address of a store with RESP, as plain data. A name is an `upstream`, or a host with the default port. */
export type RedisAddress =
  | ({ readonly kind: 'unix'; readonly path: string } & Login)
  | ({ readonly kind: 'inet'; readonly host: string; readonly port: number } & Login)
  | ({ readonly kind: 'name'; readonly name: string } & Login);

/** An address to which a socket can be opened. The addresses that the host resolves to must satisfy `within`. */
export type Endpoint = (
  | Extract<RedisAddress, { readonly kind: 'unix' }>
  | (Extract<RedisAddress, { readonly kind: 'inet' }> & { readonly within?: AddressRule })
) &
  EndpointTls;

/** The TLS settings of an endpoint with `tls`. */
export interface EndpointTls extends ContextSettings {
  /** The name in the handshake and in the store's certificate; default: the host. */
  readonly servername?: string;
  /** False: the name is not sent in the handshake. */
  readonly sendsName?: boolean;
  /** False: the store's certificate is not checked. */
  readonly verify?: boolean;
  /** How many certificates may stand between the store's own and the trusted one; default: any number. */
  readonly verifyDepth?: number;
}

/** Parts of a URL besides the host. */
export interface Login {
  readonly username?: string;
  readonly password?: string;
  readonly db?: number;
  readonly tls?: true;
}

export const DEFAULT_PORT = 6379;
const HOST = /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252})?)$/;

/** A fault of an address, as a predicate that completes `"directive" …`. */
export class AddressFault {
  readonly predicate: string;

  constructor(predicate: string) {
    this.predicate = predicate;
  }
}

/** Parses `host:port`, `name`, `unix:/path`, `redis://…` or `rediss://…`. */
export function parseRedisAddress(text: string): RedisAddress | AddressFault {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    return path.startsWith('/')
      ? { kind: 'unix', path }
      : new AddressFault('needs an absolute path after "unix:"');
  }
  if (/^rediss?:\/\//i.test(text)) return parseUrl(text);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text))
    return new AddressFault('has a scheme other than redis and rediss');
  return parseHost(text, {});
}

/** Returns the address for logs, without the login. */
export function redisLabel(address: RedisAddress): string {
  switch (address.kind) {
    case 'unix':
      return `unix:${address.path}`;
    case 'name':
      return address.name;
    case 'inet':
      return address.host.includes(':')
        ? `[${address.host}]:${address.port}`
        : `${address.host}:${address.port}`;
  }
}

/** Returns the endpoints of an address: those of its upstream block, or the host itself. */
export function endpointsOf(
  address: RedisAddress,
  upstream: (name: string) => readonly string[] | undefined,
): Endpoint[] {
  if (address.kind !== 'name') return [address];
  const { kind: _, name, ...login } = address;
  const servers = upstream(name);
  if (!servers) return [{ kind: 'inet', host: name, port: DEFAULT_PORT, ...login }];
  return servers.map((server): Endpoint => {
    if (server.startsWith('unix:')) return { kind: 'unix', path: server.slice('unix:'.length), ...login };
    const [, host = server, port] = /^(.*):(\d+)$/.exec(server) ?? [];
    return { kind: 'inet', host: withoutBrackets(host), port: port ? Number(port) : DEFAULT_PORT, ...login };
  });
}

function parseUrl(text: string): RedisAddress | AddressFault {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return new AddressFault('is not a valid URL');
  }
  if (url.search !== '' || url.hash !== '') return new AddressFault('takes no query and no fragment');
  const [, db = '', ...rest] = url.pathname.split('/');
  if (rest.length > 0 || !/^\d{0,5}$/.test(db))
    return new AddressFault('has a path that is not a database number');
  const login = readLogin(url.username, url.password);
  if (login instanceof AddressFault) return login;
  return parseHost(url.host, {
    ...login,
    ...(Number(db) > 0 && { db: Number(db) }),
    ...(url.protocol === 'rediss:' && { tls: true as const }),
  });
}

/** Several servers that form one store. */
interface ServerList {
  readonly servers: readonly { readonly kind: 'inet'; readonly host: string; readonly port: number }[];
  readonly login: Login;
  /** The text after the servers, without its slash. */
  readonly path: string;
}

/** Parses `user:password@host:port,host/path`, which follows a scheme. */
export function parseServerList(text: string, defaultPort: number): ServerList | AddressFault {
  if (/[?#]/.test(text)) return new AddressFault('takes no query and no fragment');
  const [, authority = '', path = ''] = /^([^/]*)\/?(.*)$/s.exec(text) ?? [];
  const at = authority.lastIndexOf('@');
  const [, username = '', password = ''] = /^([^:]*):?(.*)$/s.exec(authority.slice(0, Math.max(0, at))) ?? [];
  const login = readLogin(username, password);
  if (login instanceof AddressFault) return login;
  const servers: ServerList['servers'][number][] = [];
  for (const one of authority.slice(at + 1).split(',')) {
    const host = parseHost(one, {}, defaultPort);
    if (host instanceof AddressFault) return host;
    if (host.kind === 'inet') servers.push(host);
    if (host.kind === 'name') servers.push({ kind: 'inet', host: host.name, port: defaultPort });
  }
  return { servers, login, path };
}

function readLogin(writtenName: string, writtenPassword: string): Login | AddressFault {
  const username = decodeLogin(writtenName);
  const password = decodeLogin(writtenPassword);
  if (username === undefined || password === undefined)
    return new AddressFault('has a login that is not UTF-8');
  if (username !== '' && password === '') return new AddressFault('has a user name without a password');
  return { ...(username !== '' && { username }), ...(password !== '' && { password }) };
}

function parseHost(text: string, login: Login, defaultPort = DEFAULT_PORT): RedisAddress | AddressFault {
  const [, host = text, port] = /^(.*):(\d*)$/.exec(text) ?? [];
  if (!HOST.test(host)) return new AddressFault(host === '' ? 'has no host' : 'has an invalid host');
  if (port === undefined) {
    return host.startsWith('[')
      ? { kind: 'inet', host: withoutBrackets(host), port: defaultPort, ...login }
      : { kind: 'name', name: host, ...login };
  }
  const number = Number(port);
  if (port === '' || number < 1 || number > 65_535) return new AddressFault('has an invalid port');
  return { kind: 'inet', host: withoutBrackets(host), port: number, ...login };
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

function decodeLogin(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
