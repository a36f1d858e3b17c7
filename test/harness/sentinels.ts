import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { launch, type Launched } from './launch.ts';
import type { Owner } from './owner.ts';
import { freePort } from './ports.ts';
import { redis, type TestRedis } from './redis.ts';
import { service } from './services.ts';

/** A master, its replica, and the Sentinels that watch them. */
export interface Replication {
  /** `sentinel://…/mymaster` */
  readonly url: string;
  readonly master: TestRedis;
  readonly replica: TestRedis;
  readonly sentinels: readonly Sentinel[];
}

export interface Sentinel {
  readonly port: number;
  readonly client: Redis;
  stop(): Promise<void>;
}

interface ReplicationOptions {
  readonly sentinels?: number;
  /** The login of the servers, and the settings of their users. */
  readonly login?: { readonly url: string; readonly password: string };
  /** More lines of the Sentinels' configurations. */
  readonly settings?: readonly string[];
}

let servers = 100;

/** Starts a master with a replica, and Sentinels that replace a master after 500 ms of silence. */
export async function replication(t: Owner, options: ReplicationOptions = {}): Promise<Replication> {
  const { sentinels: count = 3, settings = [] } = options;
  // Each test has servers of its own, because they change their roles.
  const [master, replica] = await Promise.all([
    redis('--databases', String(++servers), '--repl-diskless-sync-delay', '0'),
    redis('--databases', String(++servers), '--repl-diskless-sync-delay', '0'),
  ]);
  await replica.client.replicaof('127.0.0.1', master.port);
  const lines = [
    'bind 127.0.0.1',
    `sentinel monitor mymaster 127.0.0.1 ${master.port} ${Math.ceil(count / 2)}`,
    'sentinel down-after-milliseconds mymaster 500',
    'sentinel failover-timeout mymaster 3000',
    ...settings,
  ];
  const sentinels = await Promise.all(Array.from({ length: count }, () => startSentinel(t, lines)));
  const url = `sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/mymaster`;
  for (const { client } of sentinels) {
    while (!(await knows(client, count))) await sleep(50);
  }
  return { url, master, replica, sentinels };
}

async function startSentinel(t: Owner, lines: readonly string[]): Promise<Sentinel> {
  const { program } = await service('redis');
  const port = await freePort();
  const cwd = mkdtempSync(join(tmpdir(), 'gw-sentinel-'));
  // A Sentinel writes its findings into its configuration.
  writeFileSync(join(cwd, 'sentinel.conf'), [`port ${port}`, ...lines, ''].join('\n'));
  const running: Launched = launch(program, ['sentinel.conf', '--sentinel'], { cwd });
  const client = new Redis({ port, lazyConnect: true, retryStrategy: () => 50 }).on('error', () => undefined);
  const stop = async (): Promise<void> => {
    client.disconnect();
    if (!running.exit()) await running.stop('SIGKILL');
  };
  t.onTestFinished(stop);
  await running.waitForOutput(/\+monitor/);
  return { port, client, stop };
}

/** Returns whether a Sentinel has found the replica and the other Sentinels. */
async function knows(client: Redis, sentinels: number): Promise<boolean> {
  const listed = (await client.call('sentinel', 'master', 'mymaster')) as readonly string[];
  const valueOf = (name: string): number => Number(listed[listed.indexOf(name) + 1]);
  return valueOf('num-slaves') === 1 && valueOf('num-other-sentinels') === sentinels - 1;
}
