import { expect, test, vi } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { ownPostgres } from '../../harness/own-postgres.ts';
import { postgres } from '../../harness/postgres.ts';

const FIXTURE = 'create role anon; create table items (id int); grant select on items to anon';

test('an outage of a database is one line with the reason, and one when it is over, for all workers and requests', async (t) => {
  const server = await ownPostgres(t, FIXTURE);
  const gw = await startGateway(
    t,
    `server { location = /metrics { control_api metrics; }
       location / { dbrest_pass ${server.dsn}; dbrest_anon_role anon; } }`,
    { workers: 2, main: 'error_log info.log info;' },
  );
  await gw.expect('GET /items', { status: 200 });
  await server.stop();
  const statuses: number[] = [];
  for (let n = 0; n < 40; n++) statuses.push((await gw.fetch('/items')).status);
  expect(new Set(statuses)).toEqual(new Set([503]));
  await server.start();
  await vi.waitFor(async () => expect((await gw.fetch('/items')).status).toBe(200), 10_000);
  const [, failed] = await gw.waitForLog(/connected to "[^"]+" again; (\d+) requests for "[^"]+" failed/);
  expect(Number(failed)).toBeGreaterThan(30);
  await vi.waitFor(async () => {
    const metrics = (await gw.fetch('/metrics')).body;
    const [, counted] = /^gw_dbrest_unreached_total\{database="[^"]+"\} (\d+)$/m.exec(metrics) ?? [];
    expect(Number(counted)).toBeGreaterThanOrEqual(Number(failed));
  }, 10_000);
  const lines = gw.errorLog().split('\n');
  const about = lines.filter((line) => line.includes('[error]') && line.includes('dbrest:'));
  expect(about.filter((line) => line.includes('cannot connect'))).toHaveLength(1);
  expect(about.length).toBeLessThanOrEqual(5);
  const ofRequests = gw.read('info.log').match(/\[info\] .*dbrest: PGRST00\d .*request: "GET \/items/g);
  expect(ofRequests?.length).toBeGreaterThan(30);
});

test('a line of JSON about an error of PostgreSQL has its code', async (t) => {
  const { dsn } = await postgres(
    'create view broken as select 1 / n as n from (values (0)) v(n); grant select on broken to anon',
  );
  const gw = await startGateway(t, `server { location / { dbrest_pass ${dsn}; dbrest_anon_role anon; } }`, {
    main: 'error_log json.log info json;',
  });
  expect((await gw.fetch('/broken')).status).toBe(400);
  const line = gw
    .read('json.log')
    .split('\n')
    .find((each) => each.includes('division by zero'));
  expect(JSON.parse(line ?? '')).toMatchObject({ level: 'info', sqlstate: '22012' });
});
