import { isIP } from 'node:net';
import type { Word } from '../../grammar/index.ts';
import { parseNetwork, readers } from '../config/index.ts';
import type { ArgReader, Network, ReadScope } from '../config/index.ts';

/** One word of a list of hosts; `port` absent: any. Names are in lower case. */
export type AllowedHost = (
  | { readonly kind: 'name'; readonly name: string }
  /** `.example.com`: every name that ends so. */
  | { readonly kind: 'suffix'; readonly suffix: string }
  | { readonly kind: 'network'; readonly network: Network }
) & { readonly port?: number };

/** `name | *.name | .name | address | CIDR …`, each with a port or without. */
export const allowedHosts: ArgReader<readonly AllowedHost[]> = readers.words(
  { syntax: 'name[:port] | *.name[:port] | .name[:port] | address[:port] | CIDR ...', min: 1, max: Infinity },
  (words, scope) => {
    const hosts = words.map((word) => readHost(word, scope));
    return hosts.every((host) => host !== undefined) ? hosts.flat() : undefined;
  },
);

const NAME = /^[a-z0-9_](?:[a-z0-9_-]|\.(?=[a-z0-9_-])){0,252}$/;
const WITH_PORT = /^(\[[^\]]*\]|[^:[\]]*):(\d{1,5})$/;

function readHost(word: Word, scope: ReadScope): readonly AllowedHost[] | undefined {
  const network = parseNetwork(word.value);
  if (network) {
    readers.warnOfHostBits(word, network, scope.report);
    return [{ kind: 'network', network: network.network }];
  }
  const [, host = word.value, digits] = WITH_PORT.exec(word.value) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  const found = port === 0 || (port ?? 1) > 65_535 ? undefined : hostsOf(host);
  if (!found) {
    const expected = 'expected a name, *.name, .name, an address or a network such as 10.0.0.0/8';
    scope.report.emerg(`invalid host "${word.value}"`, word.span, expected);
  }
  return found?.map((one) => ({ ...one, ...(port !== undefined && { port }) }));
}

function hostsOf(host: string): readonly AllowedHost[] | undefined {
  const ip = /^\[(.*)\]$/.exec(host)?.[1] ?? host;
  const parsed = isIP(ip) ? parseNetwork(ip) : undefined;
  if (parsed) return [{ kind: 'network', network: parsed.network }];
  const name = plainName(host);
  const bare = name.replace(/^\*?\./, '');
  // What ends in digits is a spelling of an address, which no name server is asked for.
  if (!NAME.test(bare) || /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(bare)) return undefined;
  if (bare === name) return [{ kind: 'name', name }];
  const suffix = { kind: 'suffix', suffix: `.${bare}` } as const;
  return name.startsWith('*') ? [suffix] : [{ kind: 'name', name: bare }, suffix];
}

/** A name as names are compared: no case, no dot at the end. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
