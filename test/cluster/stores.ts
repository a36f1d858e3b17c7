import { onTestFinished, vi } from 'vitest';
import {
  type Backend,
  type ClusterStore,
  openStore as openStoreAt,
  parseBackend,
  schemaSql,
  type Seal,
  type SealedEntry,
  sealEntry,
  type StoredEntry,
  type StoreOwner,
  withAccess,
} from '../../src/cluster/index.ts';
import type { Login } from '../../src/redis/index.ts';
import { postgres, type TestDatabase } from '../harness/postgres.ts';
import { redisCluster } from '../harness/redis-cluster.ts';
import { redis } from '../harness/redis.ts';

let namespaces = 0;

/** A namespace that no other test uses. */
export const freshNamespace = (): string => `t${process.pid}-${++namespaces}`;

export interface TestStore {
  readonly store: ClusterStore;
  readonly seal: Seal;
  /** `up`, and reasons for being down, or for a part of it. */
  readonly told: readonly string[];
  /** Whether a stream is in the part that was last told. */
  isAway(stream: string): boolean;
  /** Resolves when the store is up, and all its connections serve, for a stream. */
  ready(stream?: string): Promise<void>;
  /** Makes a node's last sign of life older. */
  age(nodeId: string, ms: number): Promise<void>;
  /** Removes all that the store has of a stream that is not keyed. */
  lose(stream: string): Promise<void>;
}

export interface TestStoreOptions {
  /** By default that of the test file. */
  readonly url?: string;
  readonly namespace?: string;
  readonly retain?: number;
  readonly timeoutMs?: number;
  readonly sentinelLogin?: Login;
}

/** A store in Redis. */
export interface RedisTestStore extends TestStore {
  /** The key of a stream of the namespace. */
  key(stream: string): string;
}

interface OwnOptions {
  readonly namespace: string;
  readonly retain: number;
  readonly timeoutMs: number;
  readonly sentinelLogin?: Login | undefined;
}

/** The store at an address. */
export function storeAt(url: string, { sentinelLogin, ...own }: OwnOptions, owner: StoreOwner): ClusterStore {
  const backend = withAccess(parseBackend(url) as Backend, { sentinelLogin });
  return openStoreAt({ backend, ...own }, owner);
}

/** A store in Redis that ends with the test. */
export async function openStore(options: TestStoreOptions = {}): Promise<RedisTestStore> {
  const opened = open(options.url ?? (await redis()).url, options);
  const { namespace } = opened.seal;
  return {
    ...opened,
    key: (stream) => `gw:{${namespace}:${stream}}`,
    async age(nodeId, ms) {
      const { client } = await redis();
      await client.zincrby(`gw:{${namespace}:nodes}`, -ms, nodeId);
    },
    async lose(stream) {
      const key = `gw:{${namespace}:${stream}}`;
      await (await redis()).client.del(key, `${key}:n`);
    },
  };
}

/** The role of the gateways in databases of tests. */
export const GATEWAY_ROLE = 'gw_of_tests';

/** The address of a database for this role. */
export const gatewayDsn = ({ adminDsn }: Pick<TestDatabase, 'adminDsn'>): string =>
  adminDsn.replace('//postgres@', `//${GATEWAY_ROLE}@`);

/** A fresh database that is set up for clusters. */
export const clusterDatabase = (): Promise<TestDatabase> => postgres(schemaSql({ role: GATEWAY_ROLE }));

let database: Promise<TestDatabase> | undefined;

/** That of this test file. */
export const ownDatabase = (): Promise<TestDatabase> => (database ??= clusterDatabase());

/** A store in PostgreSQL that ends with the test. */
export async function openPostgresStore(options: TestStoreOptions = {}): Promise<TestStore> {
  const opened = open(options.url ?? gatewayDsn(await ownDatabase()), options);
  return {
    ...opened,
    async age(nodeId, ms) {
      const sql = `update gw_cluster.nodes set heard = heard - $3 * interval '1 ms' where namespace = $1 and node = $2`;
      await (await ownDatabase()).query(sql, [opened.seal.namespace, nodeId, ms]);
    },
    async lose(stream) {
      for (const table of ['entries', 'origins', 'streams']) {
        const sql = `delete from gw_cluster.${table} where namespace = $1 and stream = $2`;
        await (await ownDatabase()).query(sql, [opened.seal.namespace, stream]);
      }
    },
  };
}

function open(
  url: string,
  { namespace = freshNamespace(), retain = 1_000, timeoutMs = 5_000, sentinelLogin }: TestStoreOptions,
): Omit<TestStore, 'age' | 'lose'> {
  const told: string[] = [];
  let isAway = (_stream: string): boolean => false;
  const owner: StoreOwner = {
    up: () => void told.push('up'),
    down: (reason: string) => void told.push(reason),
    partlyDown: (reason, has) => {
      told.push(reason);
      isAway = has;
    },
  };
  const store = storeAt(url, { namespace, retain, timeoutMs, sentinelLogin }, owner);
  onTestFinished(() => store.close());
  const ready = (stream = 'ready'): Promise<void> =>
    vi.waitFor(async () => {
      if (told.at(-1) !== 'up') throw new Error(`not up: ${told.at(-1)}`);
      await store.read(new Map([[stream, 0]]), 0);
    }, 10_000);
  return {
    store,
    seal: { secret: 'sesame', namespace },
    told,
    isAway: (stream) => isAway(stream),
    ready,
  };
}

/** A store in Redis that is ready. */
export const readyStore = async (options?: TestStoreOptions): Promise<RedisTestStore> =>
  whenReady(await openStore(options));

/** A store in the Redis Cluster of the test file that is ready. */
async function readyClusterStore(options: TestStoreOptions = {}): Promise<RedisTestStore> {
  const { url, client } = await redisCluster();
  const opened = await readyStore({ url, ...options });
  const { namespace } = opened.seal;
  return {
    ...opened,
    age: async (nodeId, ms) => void (await client.zincrby(`gw:{${namespace}:nodes}`, -ms, nodeId)),
    lose: async (stream) => void (await client.del(opened.key(stream), `${opened.key(stream)}:n`)),
  };
}

/** A store in PostgreSQL that is ready. */
export const readyPostgresStore = async (options?: TestStoreOptions): Promise<TestStore> =>
  whenReady(await openPostgresStore(options));

async function whenReady<Opened extends TestStore>(opened: Opened): Promise<Opened> {
  await opened.ready();
  return opened;
}

/** What opens a store that is ready, by what has it. */
export const STORES: Readonly<Record<string, (options?: TestStoreOptions) => Promise<TestStore>>> = {
  Redis: readyStore,
  'Redis Cluster': readyClusterStore,
  PostgreSQL: readyPostgresStore,
};

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
