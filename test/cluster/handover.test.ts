import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type ClusterPlan, clusterZone } from '../../src/cluster/index.ts';
import { type ClusterTurn, OpenCluster } from '../../src/cluster/open-cluster.ts';
import { type Endpoint, parseRedisAddress } from '../../src/redis/index.ts';
import { Counters, createCounterMemory, createZone } from '../../src/zone/index.ts';
import { redis, type TestRedis } from '../harness/redis.ts';
import { freshNamespace } from './stores.ts';

function stateDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'gw-state-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The clusters that one worker opens, one configuration after another. */
function worker({ url }: TestRedis) {
  const log: string[] = [];
  const namespace = freshNamespace();
  const memory = createZone(clusterZone({ name: 'main' }));
  const turn: ClusterTurn = {};
  const statePath = stateDirectory();
  return {
    log,
    namespace,
    open(bufferBytes: number): OpenCluster {
      const plan: ClusterPlan = {
        name: 'main',
        backend: { kind: 'server', endpoint: parseRedisAddress(url) as Endpoint },
        nodeId: 'a',
        namespace,
        secret: 'sesame',
        retain: 1_000,
        bufferBytes,
        batchMs: 5,
        heartbeatMs: 100,
        timeoutMs: 1_000,
        limits: { leaseMs: 200, waitMs: 50, fallback: 'local' },
        statePath,
        required: false,
      };
      const cluster = new OpenCluster({
        key: String(bufferBytes),
        plan,
        memory,
        workerId: 1,
        version: '0',
        log: { write: (level, message) => void log.push(`${level}: ${message}`) },
        metrics: new Counters(createCounterMemory(100, 2), 1),
        turn,
      });
      onTestFinished(() => cluster.close());
      return cluster;
    },
  };
}

test('the node of the next configuration begins when the one before has left, also while the store hangs', async () => {
  const store = await redis('--databases', '3');
  const one = worker(store);
  const told: string[] = [];
  const joins = (name: string) => (): (() => void) => {
    told.push(`${name} joins`);
    return () => void told.push(`${name} leaves`);
  };
  const first = one.open(1_000_000);
  first.share(joins('first'));
  await expect.poll(() => first.status?.state).toBe('up');
  store.signal('SIGSTOP');
  onTestFinished(() => store.signal('SIGCONT'));
  const next = one.open(2_000_000);
  next.share(joins('next'));
  await expect.poll(() => told).toEqual(['first joins', 'first leaves', 'next joins']);
});

test('a purge that was made under the configuration before is handed to the node of the next one', async () => {
  const store = await redis('--databases', '3');
  const one = worker(store);
  const caches = { caches: new Map(), zones: new Set(['pages']), empties: true };
  const first = one.open(1_000_000);
  first.purges.share(caches);
  await expect.poll(() => first.status?.state).toBe('up');
  const next = one.open(2_000_000);
  next.purges.share(caches);
  const telling = first.purges.tell([{ zone: 'pages', kind: 'key', texts: ['/one'] }]);
  await Promise.all([telling, first.close()]);
  await expect.poll(() => store.client.xlen(`gw:{${one.namespace}:pu}`)).toBe(1);
  expect(one.log).toEqual([]);
});
