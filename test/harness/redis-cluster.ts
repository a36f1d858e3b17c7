import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { freePort } from './ports.ts';
import { redis, type TestRedis } from './redis.ts';

/** A Redis Cluster whose servers have a part of the slots each. */
export interface TestRedisCluster {
  /** `redis+cluster://…`, with the first server. */
  readonly url: string;
  readonly servers: readonly TestRedis[];
  /** Finds the server of each key by itself. */
  readonly client: Cluster;
  slotOf(key: string): Promise<number>;
  /** The server that had a slot at the start. */
  serverOf(slot: number): TestRedis;
}

const SLOTS = 16_384;
/** The other servers go on when one is lost, and any replica may replace it. */
const SETTINGS = [
  '--cluster-node-timeout 1000',
  '--cluster-require-full-coverage no',
  '--cluster-replica-validity-factor 0',
  '--repl-diskless-sync-delay 0',
].flatMap((setting) => setting.split(' '));
let opened: Promise<TestRedisCluster> | undefined;

/** The test file's Redis Cluster of three servers. */
export function redisCluster(): Promise<TestRedisCluster> {
  return (opened ??= open());
}

/** Ends the client; the servers end with those of the test file. Called by `after-file.ts`. */
export async function closeRedisCluster(): Promise<void> {
  const closing = opened;
  opened = undefined;
  (await closing)?.client.disconnect();
}

async function open(): Promise<TestRedisCluster> {
  const servers = await Promise.all(Array.from({ length: 3 }, () => startServer()));
  const firstSlot = (nth: number): number => Math.ceil((nth * SLOTS) / servers.length);
  const [first] = servers as [TestRedis];
  for (const [nth, { client }] of servers.entries()) {
    await client.cluster('SET-CONFIG-EPOCH', nth + 1);
    await client.call('cluster', 'addslotsrange', firstSlot(nth), firstSlot(nth + 1) - 1);
    if (nth > 0) await meet(client, first);
  }
  for (const { client } of servers) while (!(await isWhole(client, servers.length))) await sleep(50);
  const client = new Cluster([{ host: first.host, port: first.port }], { lazyConnect: true });
  return {
    url: `redis+cluster://${first.host}:${first.port}`,
    servers,
    client: client.on('error', () => undefined),
    slotOf: (key) => first.client.cluster('KEYSLOT', key),
    serverOf: (slot) => servers.findLast((_, nth) => firstSlot(nth) <= slot) as TestRedis,
  };
}

/** Lets a server join the Redis Cluster of another one. */
export async function meet(
  client: TestRedis['client'],
  { host, port, client: other }: TestRedis,
): Promise<void> {
  const [, busPort] = (await other.config('GET', 'cluster-port')) as string[];
  await client.call('cluster', 'meet', host, port, busPort as string);
}

/** Starts a server that is alone in its Redis Cluster, without slots. */
export async function startServer(): Promise<TestRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-redis-cluster-'));
  const own = ['--cluster-enabled', 'yes', '--dir', dir, '--cluster-port', String(await freePort())];
  return redis(...own, ...SETTINGS);
}

async function isWhole(client: TestRedis['client'], servers: number): Promise<boolean> {
  const state = await client.cluster('INFO');
  return /cluster_state:ok/.test(state) && state.includes(`cluster_known_nodes:${servers}`);
}
