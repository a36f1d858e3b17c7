import { AddressFault, parseRedisAddress, type RedisAddress, redisLabel } from '../../redis/index.ts';
import type { RequestHost } from '../../upstream/index.ts';

/** The address of a store, as plain data. */
export type KvAddress = { readonly kind: 'embedded'; readonly dir: string } | RedisAddress;

/** Addresses that variables may give. */
export type RequestAddress = Exclude<RedisAddress, { readonly kind: 'unix' }>;

/** The default directory of `embedded`, relative to the prefix. */
const EMBEDDED_DIR = '.gw/kv';

/** Parses `host:port`, `name`, `unix:/path`, `redis://…`, `rediss://…` or `embedded[:dir]`. */
export function parseAddress(text: string): KvAddress | AddressFault {
  if (text === 'embedded') return { kind: 'embedded', dir: EMBEDDED_DIR };
  if (text.startsWith('embedded:')) {
    const dir = text.slice('embedded:'.length);
    return dir === '' ? new AddressFault('has no directory after "embedded:"') : { kind: 'embedded', dir };
  }
  return parseRedisAddress(text);
}

/**
 * Parses an address that variables have given: a host or an upstream's name, as text or URL. Sockets, data directories
 * and logins must be fixed in the configuration.
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

/** Returns the host, as in URLs, and the port of an address that variables have given. */
export function requestHostOf(address: RequestAddress): RequestHost {
  if (address.kind === 'name') return { host: address.name };
  const { host, port } = address;
  return { host: host.includes(':') ? `[${host}]` : host, port };
}

/** Returns the text of an address for logs, without the login. */
export function addressLabel(address: KvAddress): string {
  return address.kind === 'embedded' ? `embedded:${address.dir}` : redisLabel(address);
}
