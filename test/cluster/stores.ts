import { onTestFinished, vi } from 'vitest';
import {
  type Backend,
  type ClusterStore,
  parseBackend,
  RedisStore,
  type Seal,
  type SealedEntry,
  sealEntry,
  type StoredEntry,
  type StoreOwner,
  withAccess,
} from '../../src/cluster/index.ts';
import type { Login } from '../../src/redis/index.ts';
import { redis } from '../harness/redis.ts';

let namespaces = 0;

/** A namespace that no other test uses. */
export const freshNamespace = (): string => `t${process.pid}-${++namespaces}`;

export interface TestStore {
  readonly store: ClusterStore;
  readonly seal: Seal;
  /** The key of a stream of the namespace. */
  key(stream: string): string;
  /** `up`, and reasons for being down. */
  readonly told: readonly string[];
  /** Resolves when the store is up, and both connections serve. */
  ready(): Promise<void>;
}

/** A store that ends with the test; by default in the Redis of the test file. */
export async function openStore({
  url,
  namespace = freshNamespace(),
  retain = 1_000,
  timeoutMs = 5_000,
  sentinelLogin = {},
}: {
  url?: string;
  namespace?: string;
  retain?: number;
  timeoutMs?: number;
  sentinelLogin?: Login;
} = {}): Promise<TestStore> {
  const backend = withAccess(parseBackend(url ?? (await redis()).url) as Backend, { sentinelLogin });
  const told: string[] = [];
  const owner: StoreOwner = {
    up: () => void told.push('up'),
    down: (reason: string) => void told.push(reason),
  };
  const store = new RedisStore({ backend, namespace, retain, timeoutMs }, owner);
  onTestFinished(() => store.close());
  const ready = (): Promise<void> =>
    vi.waitFor(async () => {
      if (told.at(-1) !== 'up') throw new Error(`not up: ${told.at(-1)}`);
      await store.read(new Map([['ready', 0]]), 0);
    }, 10_000);
  return {
    store,
    seal: { secret: 'sesame', namespace },
    key: (stream) => `gw:{${namespace}:${stream}}`,
    told,
    ready,
  };
}

/** A store that is ready. */
export async function readyStore(options?: Parameters<typeof openStore>[0]): Promise<TestStore> {
  const opened = await openStore(options);
  await opened.ready();
  return opened;
}

/** Sealed entries of one incarnation with sequences from `first` on. */
export function entriesOf(
  { seal }: Pick<TestStore, 'seal'>,
  { stream = 'ev:a', origin = 'gw-a', incarnation = 'i1', first = 1, count = 1, payload = 'x' } = {},
): SealedEntry[] {
  return Array.from({ length: count }, (_, nth) =>
    sealEntry(seal, stream, { origin, incarnation, sequence: first + nth, fields: ['payload', payload] }),
  );
}

export const countersOf = (entries: readonly StoredEntry[] | undefined): number[] =>
  (entries ?? []).map(({ counter }) => counter);

/** Reads from a counter on until nothing more comes. */
export async function readOn({ store }: TestStore, stream: string, behind = 0): Promise<StoredEntry[]> {
  const all: StoredEntry[] = [];
  for (;;) {
    const counter = all.at(-1)?.counter ?? behind;
    const entries = (await store.read(new Map([[stream, counter]]), 0)).get(stream);
    if (!entries) return all;
    all.push(...entries);
  }
}
