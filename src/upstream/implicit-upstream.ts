import { type KeepaliveConfig, readServerAddress, type ServerConfig, type UpstreamPlan } from './plan.ts';
import type { UpstreamAddress } from './interfaces.ts';

const KEEPALIVE: KeepaliveConfig = { requests: 1000, timeMs: 3_600_000, timeoutMs: 60_000 };

/** nginx's default parameters of a server. */
export const PLAIN_SERVER: Omit<ServerConfig, 'name' | 'place' | 'target'> = {
  weight: 1,
  maxConnections: 0,
  maxFails: 1,
  failTimeoutSeconds: 10,
  backup: false,
  down: false,
  drain: false,
  slowStartMs: 0,
};

/** Returns the key of an upstream. Names of hosts and blocks are case-insensitive. */
export function upstreamKey(host: string, port?: number): string {
  const name = /^unix:/i.test(host) ? host : host.toLowerCase();
  return port === undefined ? name : `${name} ${port}`;
}

/** Returns the servers of an `upstream` block as written; `undefined` if there is no such block. */
export function serversOfBlock(
  upstreams: readonly UpstreamPlan[],
  name: string,
): readonly string[] | undefined {
  const key = upstreamKey(name);
  const block = upstreams.find((upstream) => !upstream.implicit && upstream.key === key);
  return block?.servers.map((server) => server.name);
}

/** Returns the plan of a group without a block. */
export function plainUpstream(
  { name, key }: Pick<UpstreamPlan, 'name' | 'key'>,
  servers: readonly ServerConfig[],
): UpstreamPlan {
  return {
    name,
    key,
    implicit: true,
    servers,
    balancing: { kind: 'round robin' },
    keepalive: KEEPALIVE,
    resolverTimeoutMs: 0,
  };
}

/**
 * Returns the group of a literal host: one server with all its addresses. `undefined` if it is no valid address, which
 * the module reports.
 */
export function implicitUpstream(address: UpstreamAddress, place: string): UpstreamPlan | undefined {
  const { host, port, defaultPort } = address;
  const name = port === undefined ? host : `${host}:${port}`;
  const target = readServerAddress(name, defaultPort);
  if (typeof target === 'string') return undefined;
  const key = upstreamKey(host, port ?? defaultPort);
  return plainUpstream({ name, key }, [{ name, place, target, ...PLAIN_SERVER }]);
}
