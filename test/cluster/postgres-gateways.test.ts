import { expect, test } from 'vitest';
import { gw as runGw } from '../cli/command.ts';
import { startGateway } from '../harness/gateway.ts';
import {
  clusterOf,
  joined,
  numbered,
  payloadsOf,
  publishAll,
  SECRET,
  sorted,
  startPair,
} from './gateways.ts';
import { gatewayDsn, ownDatabase } from './stores.ts';

/** The address of the store, with a password that must not be shown. */
async function backendOf(): Promise<{ backend: string; label: string }> {
  const database = await ownDatabase();
  const backend = gatewayDsn(database).replace('@', ':top-secret@');
  return { backend, label: `postgres://${database.host}:${database.port}/${database.database}` };
}

test('two gateways share events through PostgreSQL, and never show its password', async (t) => {
  const { backend, label } = await backendOf();
  const [a, b] = await startPair(t, { backend });
  await Promise.all([publishAll(a, numbered('from a', 40)), publishAll(b, numbered('from b', 40))]);
  const all = sorted([...numbered('from a', 40), ...numbered('from b', 40)]);
  for (const gw of [a, b]) {
    await expect.poll(async () => sorted(await payloadsOf(gw))).toEqual(all);
    for (const name of ['from a', 'from b'])
      expect((await payloadsOf(gw)).filter((payload) => payload?.startsWith(name))).toEqual(
        numbered(name, 40),
      );
  }
  await expect.poll(async () => (await clusterOf(a)).members_total).toBe(2);
  const status = await runGw(a.dir, ['cluster', 'status', '-c', a.conf, '-p', a.dir]);
  expect(status.code).toBe(0);
  expect(status.stdout).toContain('cluster main: up');
  expect(status.stdout).toContain(label);
  const shown = [JSON.stringify(await clusterOf(a)), status.stdout, a.errorLog(), b.errorLog()].join('\n');
  expect(shown).not.toContain('top-secret');
});

test('a shared limit falls back at once, which the log of the start tells', async (t) => {
  const { backend } = await backendOf();
  const gw = await startGateway(
    t,
    `cluster main {
      backend "${backend.replace(/^.*@(.*):(\d+)\/(.*)$/, 'host=$1 port=$2 dbname=$3 user=gw_of_tests')}";
      node_id limited; secret "${SECRET}"; heartbeat 500ms; limits wait=10s fallback=local;
    }
    limit_req_zone $arg_k zone=one:1m rate=1r/m cluster=main;
    error_page 404 = @in;
    server {
      location @in { return 200; }
      location / { limit_req zone=one burst=5 nodelay; }
      location = /cluster { control_api cluster; }
      location = /metrics { control_api metrics; }
    }`,
    { workers: 2, main: 'check { log on; }' },
  );
  await joined(gw);
  // Each would wait for ten seconds, and the test end first.
  const statuses: number[] = [];
  for (let nth = 0; nth < 8; nth++) statuses.push((await gw.fetch('/?k=x')).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 503, 503]);
  expect((await gw.fetch('/metrics')).body).toMatch(/^gw_limit_fallback_total\{.*\} 8$/m);
  expect((await clusterOf(gw)).state).toBe('up');
  await gw.waitForLog(/cluster "main" shares no limits: its store is PostgreSQL/);
});
