import type { RedisBackend } from '../../backend.ts';
import type { StoreOwner } from '../../store.ts';
import { ClusterServers } from './cluster-servers.ts';
import type { RedisServers } from './commands.ts';
import { OneServer, writeProbe } from './one-server.ts';
import { masterProbe, SentinelServers } from './sentinel-servers.ts';

export type { Commands, RedisServers, ScriptCall } from './commands.ts';
export { isTooLarge } from './store-connection.ts';

interface ServersOptions {
  readonly timeoutMs: number;
  /** The key of a hash in which a field with an empty name may be deleted. */
  readonly probeKey: string;
  /** Returns the key of a stream. */
  readonly keyOf: (stream: string) => string;
}

/** Opens the connections to the servers of a store, which reconnect by themselves until they are closed. */
export function openServers(
  backend: RedisBackend,
  { timeoutMs, probeKey, keyOf }: ServersOptions,
  owner: StoreOwner,
): RedisServers {
  const probe = writeProbe(probeKey);
  switch (backend.kind) {
    case 'server':
      return new OneServer({ endpoint: backend.endpoint, timeoutMs, probe }, owner);
    case 'sentinel':
      return new SentinelServers({ backend, timeoutMs, probe: masterProbe(probe) }, owner);
    case 'cluster':
      return new ClusterServers({ backend, timeoutMs, keyOf }, owner);
  }
}
