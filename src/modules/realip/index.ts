import { lookup } from 'node:dns/promises';
import { isIPv4 } from 'node:net';
import {
  addressBytes,
  canonicalAddress,
  type ArgReader,
  contains,
  directivesFor,
  type Network,
  parseNetwork,
  readers,
} from '../../config/index.ts';
import { type Build, moduleFor, type WorkerScope } from '../../contract/index.ts';
import { type Exchange, type Handler, type RemoteFacts, stateKey, TRUSTED_PEER } from '../../http/index.ts';

/** A trusted proxy: a network, the clients of Unix sockets, or the addresses of a host. */
type Proxy = Network | 'unix' | { readonly host: string };

/** The source of the client's address: a request header by its lower-case name, or the PROXY protocol. */
type Source = { readonly header: string } | 'proxy_protocol';

/** The realip configuration of one location. */
interface RealIpConfig {
  readonly proxies?: readonly Proxy[];
  readonly source: Source;
  readonly recursive: boolean;
}

const HSL = ['http', 'server', 'location'] as const;
const HOST = /^[\w-]+(?:\.[\w-]+)*\.?$/;

const proxy: ArgReader<Proxy> = readers.oneWord('address | CIDR | unix: | host', (word, scope) => {
  if (word.value === 'unix:') return 'unix';
  if (parseNetwork(word.value)) return readers.readCidr(word, scope);
  if (HOST.test(word.value)) return { host: word.value };
  scope.report.emerg(
    `host not found in set_real_ip_from "${word.value}"`,
    word.span,
    'expected an address such as 10.0.0.1 or 10.0.0.0/8, unix: or the name of a host',
  );
  return undefined;
});

const source: ArgReader<Source> = readers.oneWord(
  'field | X-Real-IP | X-Forwarded-For | proxy_protocol',
  (word) => (word.value === 'proxy_protocol' ? word.value : { header: word.value.toLowerCase() }),
);

/** nginx's realip module. */
const directives = directivesFor<RealIpConfig>()({
  set_real_ip_from: {
    contexts: HSL,
    args: proxy,
    into: 'proxies',
    repeat: 'append',
    summary: 'Trusted proxies, which may replace the address of the client.',
    source: 'nginx ngx_http_realip_module#set_real_ip_from',
  },
  real_ip_header: {
    contexts: HSL,
    args: source,
    into: 'source',
    default: { header: 'x-real-ip' },
    defaultText: 'X-Real-IP',
    summary: 'Request header from which the address of the client is taken.',
    source: 'nginx ngx_http_realip_module#real_ip_header',
  },
  real_ip_recursive: {
    contexts: HSL,
    args: readers.flag,
    into: 'recursive',
    default: false,
    summary: 'Uses the last address that is not a trusted proxy instead of the last one.',
    source: 'nginx ngx_http_realip_module#real_ip_recursive',
  },
});

/** Trusted proxies with their names resolved. */
export type Trusted = readonly (Network | 'unix')[];

/** The rules for evaluating a list of addresses. */
interface ProxyTrust {
  readonly trusted: Trusted;
  readonly recursive: boolean;
}

/**
 * Returns the client's address from a list such as `X-Forwarded-For`, to which each proxy appends: the last one, or
 * with `recursive` the last one that is not a trusted proxy (nginx ngx_http_get_forwarded_addr). `undefined`: the peer
 * is not trusted, or the address is invalid.
 */
export function clientAddress(
  peer: string,
  list: string,
  { trusted, recursive }: ProxyTrust,
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

/** Tells whether an address is trusted. Clients of Unix sockets have no address. */
function isTrusted(trusted: Trusted, address: string): boolean {
  const bytes = addressBytes(address);
  return trusted.some((who) => (who === 'unix' ? !bytes : bytes !== undefined && contains(who, bytes)));
}

const WITH_PORT = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/;

/** Parses `10.0.0.1`, `10.0.0.1:80`, `2001:db8::1` or `[2001:db8::1]:80` (nginx ngx_parse_addr_port). */
function parseAddressPort(text: string): RemoteFacts | undefined {
  const plain = canonicalAddress(text);
  if (plain !== undefined) return { address: plain, port: 0 };
  const [, six, four = '', digits] = WITH_PORT.exec(text) ?? [];
  const port = Number(digits);
  const address = six === undefined && !isIPv4(four) ? undefined : canonicalAddress(six ?? four);
  return address !== undefined && port >= 1 && port <= 65_535 ? { address, port } : undefined;
}

/**
 * The client's address behind a trusted proxy (nginx ngx_http_realip_module). It replaces the address of the connection
 * everywhere.
 */
export const realip = moduleFor<RealIpConfig>()<Trusted>({
  name: 'realip',
  summary: 'The address of the client behind a trusted proxy.',
  directives,
  variables: {
    realip_remote_addr: {
      summary: 'Address of the other end of the connection, regardless of proxies.',
      compile: (build) => {
        build.needPeer();
        return (x) => x.main.wire.peerAddress;
      },
    },
    realip_remote_port: {
      summary: 'Port of the other end of the connection; empty on uWebSockets.js.',
      compile: (build) => {
        build.needPeer();
        return (x) => (x.main.wire.peerPort === 0 ? '' : String(x.main.wire.peerPort));
      },
    },
  },
  enabled: ({ proxies }) => proxies !== undefined,
  provision: async ({ proxies = [] }, worker) =>
    (await Promise.all(proxies.map((proxy) => resolve(proxy, worker)))).flat(),
  compile(config, trusted, build) {
    const handler = compileRealIp(config, trusted, build);
    return { postRead: handler, preaccess: handler };
  },
  // Names are not resolved in an explanation: hosts given by name are not trusted.
  explanation: {
    provision: ({ proxies = [] }) => proxies.flatMap((proxy) => (isNamed(proxy) ? [] : [proxy])),
  },
  rules: () => import('./rules.ts'),
});

function isNamed(proxy: Proxy): proxy is { readonly host: string } {
  return proxy !== 'unix' && 'host' in proxy;
}

/** Resolves a proxy. Nobody is trusted for a name without addresses. */
async function resolve(proxy: Proxy, { log }: WorkerScope): Promise<Trusted> {
  if (!isNamed(proxy)) return [proxy];
  try {
    const found = await lookup(proxy.host, { all: true });
    return found.map(({ address }) => parseNetwork(address)?.network as Network);
  } catch {
    log.write('warn', `host not found in set_real_ip_from "${proxy.host}"`);
    return [];
  }
}

const KNOWN = stateKey<boolean>('the address of the client is known');

/** Compiles the handler, which runs on server level and again in the location; the first address is kept (nginx). */
function compileRealIp({ source, recursive }: RealIpConfig, trusted: Trusted, build: Build): Handler {
  build.needPeer();
  const isBefore = source === 'proxy_protocol';
  const listOf = isBefore ? toldBefore : compileList(source.header, build);
  return ({ main: x }) => {
    if (x.state(KNOWN) !== undefined) return;
    const { peerAddress } = x.wire;
    if (isTrusted(trusted, peerAddress)) x.setState(TRUSTED_PEER, true);
    const list = listOf(x);
    if (list === undefined) return;
    const found = clientAddress(peerAddress, list, { trusted, recursive });
    if (!found) return;
    x.setRemote(isBefore ? { ...found, port: x.request.connection?.proxyProtocol?.port ?? 0 } : found);
    x.setState(KNOWN, true);
  };
}

const toldBefore = (x: Exchange): string | undefined => x.request.connection?.proxyProtocol?.address;

/** Compiles the list of addresses. Of several `X-Real-IP` headers the first is used, as in nginx. */
function compileList(header: string, build: Build): (x: Exchange) => string | undefined {
  build.needHeader(header);
  if (header !== 'x-real-ip') return (x) => x.header(header);
  return ({ request: { headers } }) => {
    for (let index = 0; index < headers.length; index += 2) {
      if (headers[index]?.toLowerCase() === header) return headers[index + 1];
    }
    return undefined;
  };
}
