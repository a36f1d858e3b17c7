import type { Backend } from './backend.ts';
import { PostgresStore } from './postgres/index.ts';
import { RedisStore } from './redis/index.ts';
import type { ClusterStore, StoreOwner } from './store.ts';

interface StoreOptions {
  readonly backend: Backend;
  readonly namespace: string;
  readonly retain: number;
  readonly timeoutMs: number;
}

/** Opens the store of a cluster. The store reconnects by itself until it is closed. */
export function openStore(
  { backend, namespace, retain, timeoutMs }: StoreOptions,
  owner: StoreOwner,
): ClusterStore {
  const options = { namespace, retain, timeoutMs };
  return backend.kind === 'postgres'
    ? new PostgresStore({ target: backend.target, ...options }, owner)
    : new RedisStore({ backend, ...options }, owner);
}
