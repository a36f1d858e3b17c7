import { type KeepaliveConfig, readServerAddress, type ServerConfig, type UpstreamPlan } from './plan.ts';
import type { UpstreamAddress } from './selection.ts';

const KEEPALIVE: KeepaliveConfig = { requests: 1000, timeMs: 3_600_000, timeoutMs: 60_000 };

/** nginx's parameters of a server that says nothing. */
export const PLAIN_SERVER: Omit<ServerConfig, 'name' | 'place' | 'target'> = {
  weight: 1,
  maxConnections: 0,
  maxFails: 1,
  failTimeoutSeconds: 10,
  backup: false,
  down: false,
};

/** What an upstream is found by: names of hosts and blocks know no case. */
export function upstreamKey(host: string, port?: number): string {
  const name = /^unix:/i.test(host) ? host : host.toLowerCase();
  return port === undefined ? name : `${name} ${port}`;
}

/** A group that no block describes. */
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

/** The group of a literal host: one server, all its addresses. `undefined` when it is no address (the module reports that). */
export function implicitUpstream(address: UpstreamAddress, place: string): UpstreamPlan | undefined {
  const { host, port, defaultPort } = address;
  const name = port === undefined ? host : `${host}:${port}`;
  const target = readServerAddress(name, defaultPort);
  if (typeof target === 'string') return undefined;
  const key = upstreamKey(host, port ?? defaultPort);
  return plainUpstream({ name, key }, [{ name, place, target, ...PLAIN_SERVER }]);
}
