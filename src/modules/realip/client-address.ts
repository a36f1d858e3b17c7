import { isIPv4 } from 'node:net';
import { addressBytes, addressText, contains } from '../../config/index.ts';
import type { Network } from '../../config/index.ts';
import type { RemoteFacts } from '../../http/index.ts';

/** Proxies that are believed, names resolved. */
export type Trusted = readonly (Network | 'unix')[];

/** What to make of a list of addresses. */
export interface Belief {
  readonly trusted: Trusted;
  readonly recursive: boolean;
}

/**
 * The client's address by a list such as `X-Forwarded-For`, which each proxy has continued at its end: the last one, or with
 * `recursive` the last one that is no trusted proxy (nginx ngx_http_get_forwarded_addr). `undefined`: the peer is not
 * believed, or what it says is no address.
 */
export function clientAddress(
  peer: string,
  list: string,
  { trusted, recursive }: Belief,
): RemoteFacts | undefined {
  let found: RemoteFacts | undefined;
  let end = list.length;
  while (end > 0 && isTrusted(trusted, found?.address ?? peer)) {
    while (end > 1 && isSeparator(list, end - 1)) end--;
    let start = end - 1;
    while (start > 0 && !isSeparator(list, start - 1)) start--;
    const next = parseAddressPort(list.slice(start, end));
    if (!next) return found;
    found = next;
    if (!recursive) return found;
    end = start - 1;
  }
  return found;
}

function isSeparator(list: string, index: number): boolean {
  return list[index] === ' ' || list[index] === ',';
}

/** A client of a Unix socket has no address. */
export function isTrusted(trusted: Trusted, address: string): boolean {
  const bytes = addressBytes(address);
  return trusted.some((who) => (who === 'unix' ? !bytes : bytes !== undefined && contains(who, bytes)));
}

const WITH_PORT = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/;

/** `10.0.0.1`, `10.0.0.1:80`, `2001:db8::1` or `[2001:db8::1]:80` (nginx ngx_parse_addr_port). */
function parseAddressPort(text: string): RemoteFacts | undefined {
  const plain = addressText(text);
  if (plain !== undefined) return { address: plain, port: 0 };
  const [, six, four = '', digits] = WITH_PORT.exec(text) ?? [];
  const port = Number(digits);
  const address = six === undefined && !isIPv4(four) ? undefined : addressText(six ?? four);
  return address !== undefined && port >= 1 && port <= 65_535 ? { address, port } : undefined;
}
