import { lookup } from 'node:dns/promises';
import { parseNetwork } from '../../config/index.ts';
import type { Network } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import type { Build, WorkerScope } from '../../contract/index.ts';
import type { Exchange, Handler } from '../../http/index.ts';
import { clientAddress } from './client-address.ts';
import type { Trusted } from './client-address.ts';
import type { Proxy, RealIpConfig } from './config.ts';
import { directives } from './directives.ts';

/** The client's address, where a trusted proxy stands between. Everything that asks for the address gets that one. */
export const realip = moduleFor<RealIpConfig>()<Trusted>({
  name: 'realip',
  directives,
  variables: {
    realip_remote_addr: {
      summary: 'Address of the other end of the connection, whatever a proxy told.',
      compile: (build) => {
        build.needPeer();
        return (x) => x.main.peerAddress;
      },
    },
    realip_remote_port: {
      summary: 'Port of the other end of the connection; empty where uWebSockets.js does not tell.',
      compile: (build) => {
        build.needPeer();
        return (x) => (x.main.peerPort === 0 ? '' : String(x.main.peerPort));
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
  // Names are not looked up: hosts that only name servers know are believed nothing.
  explanation: {
    provision: ({ proxies = [] }) => proxies.flatMap((proxy) => (isNamed(proxy) ? [] : [proxy])),
  },
});

function isNamed(proxy: Proxy): proxy is { readonly host: string } {
  return proxy !== 'unix' && 'host' in proxy;
}

/** A name that does not resolve trusts nobody. */
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

const KNOWN = Symbol('the address of the client is known');

/** Runs on server level and again in the location; the first that learns an address is right (nginx). */
function compileRealIp({ source, recursive }: RealIpConfig, trusted: Trusted, build: Build): Handler {
  build.needPeer();
  const isBefore = source === 'proxy_protocol';
  const listOf = isBefore ? toldBefore : compileList(source.header, build);
  return ({ main: x }) => {
    const list = listOf(x);
    if (list === undefined || x.state(KNOWN) !== undefined) return;
    const found = clientAddress(x.peerAddress, list, { trusted, recursive });
    if (!found) return;
    x.setRemote(isBefore ? { ...found, port: x.connection?.proxyProtocol?.port ?? 0 } : found);
    x.setState(KNOWN, true);
  };
}

const toldBefore = (x: Exchange): string | undefined => x.connection?.proxyProtocol?.address;

/** A client can put a second `X-Real-IP` beside that of its proxy: the first one counts, as in nginx. */
function compileList(header: string, build: Build): (x: Exchange) => string | undefined {
  build.needHeader(header);
  if (header !== 'x-real-ip') return (x) => x.header(header);
  return ({ headers }) => {
    for (let index = 0; index < headers.length; index += 2) {
      if (headers[index]?.toLowerCase() === header) return headers[index + 1];
    }
    return undefined;
  };
}
