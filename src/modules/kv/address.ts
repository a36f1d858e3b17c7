import type { AddressRule, RequestHost } from '../../upstream/index.ts';

/** The address of a store, as plain data. A name is an `upstream`, or else a host with the default port. */
export type KvAddress =
  | { readonly kind: 'embedded'; readonly dir: string }
  | ({ readonly kind: 'unix'; readonly path: string } & Login)
  | ({ readonly kind: 'inet'; readonly host: string; readonly port: number } & Login)
  | ({ readonly kind: 'name'; readonly name: string } & Login);

/** A store that speaks RESP. */
export type RedisAddress = Exclude<KvAddress, { readonly kind: 'embedded' }>;

/** Addresses that variables may give. */
export type RequestAddress = Exclude<RedisAddress, { readonly kind: 'unix' }>;

/** An address that a socket can be opened to; addresses of the host must satisfy `within`. */
export type Endpoint =
  | Extract<KvAddress, { readonly kind: 'unix' }>
  | (Extract<KvAddress, { readonly kind: 'inet' }> & { readonly within?: AddressRule });

/** Parts of a URL besides the host. */
export interface Login {
  readonly username?: string;
  readonly password?: string;
  readonly db?: number;
  readonly tls?: true;
}

/** The default directory of `embedded`, relative to the prefix. */
const EMBEDDED_DIR = '.gw/kv';

export const DEFAULT_PORT = 6379;
const HOST = /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252})?)$/;

/** A fault of an address, as a predicate that completes `"kv_pass" …`. */
export class AddressFault {
  readonly predicate: string;

  constructor(predicate: string) {
    this.predicate = predicate;
  }
}

/** Parses `host:port`, `name`, `unix:/path`, `redis://…`, `rediss://…` or `embedded[:dir]`. */
export function parseAddress(text: string): KvAddress | AddressFault {
  if (text === 'embedded') return { kind: 'embedded', dir: EMBEDDED_DIR };
  if (text.startsWith('embedded:')) {
    const dir = text.slice('embedded:'.length);
    return dir === '' ? new AddressFault('has no directory after "embedded:"') : { kind: 'embedded', dir };
  }
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

/**
 * Parses an address that variables have given: a host or an upstream's name, as text or URL. Sockets, data directories and logins
 * must be fixed in the configuration.
 */
export function parseRequestAddress(text: string): RequestAddress | AddressFault {
  const address = parseAddress(text);
  if (address instanceof AddressFault) return address;
  if (address.kind === 'embedded' || address.kind === 'unix') {
    return new AddressFault(`may not name "${address.kind}" by variables`);
  }
  if (address.username !== undefined || address.password !== undefined) {
    return new AddressFault('may not carry a login by variables');
  }
  return address;
}

/** Gives host and port of such an address, the host as in URLs. */
export function requestHostOf(address: RequestAddress): RequestHost {
  if (address.kind === 'name') return { host: address.name };
  const { host, port } = address;
  return { host: host.includes(':') ? `[${host}]` : host, port };
}

/** Gives the text for logs, without the login. */
export function addressLabel(address: KvAddress): string {
  switch (address.kind) {
    case 'embedded':
      return `embedded:${address.dir}`;
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

/** Gives the endpoints of an address: those of its upstream block, else the host itself. */
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

function parseUrl(text: string): KvAddress | AddressFault {
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
  const username = decodeLogin(url.username);
  const password = decodeLogin(url.password);
  if (username === undefined || password === undefined)
    return new AddressFault('has a login that is not UTF-8');
  if (username !== '' && password === '') return new AddressFault('has a user name without a password');
  return parseHost(url.host, {
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
    ...(Number(db) > 0 && { db: Number(db) }),
    ...(url.protocol === 'rediss:' && { tls: true as const }),
  });
}

function parseHost(text: string, login: Login): KvAddress | AddressFault {
  const [, host = text, port] = /^(.*):(\d*)$/.exec(text) ?? [];
  if (!HOST.test(host)) return new AddressFault(host === '' ? 'has no host' : 'has an invalid host');
  if (port === undefined) {
    return host.startsWith('[')
      ? { kind: 'inet', host: withoutBrackets(host), port: DEFAULT_PORT, ...login }
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
