import pg from 'pg';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { postgres } from '../../harness/postgres.ts';
import { eventually, scrape } from '../control/scrapes.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

const METRICS = 'location = /metrics { control_api metrics; }';
const FIXTURE = `
  create table t (id int primary key);
  create view gate as select 1 as n from (select pg_advisory_xact_lock_shared(77)) l;
  grant select on t, gate to anon, web_user;`;

test('metrics of a database show its pool, its queries and its schema loads', async (t) => {
  const { dsn, host, port, database } = await postgres(FIXTURE);
  const gw = await startGateway(
    t,
    `server { ${METRICS}
       location /r/ { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_pool_size 3; }
       location /s/ { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_pool_size 2; } }`,
    { workers: 2 },
  );
  const of = (metric: string, more = '') =>
    `gw_dbrest_${metric}{database="${host}:${port}/${database}"${more}}`;
  const idle = await eventually(gw, (now) => expect(now.get(of('pool_max'))).toBe(6));
  expect(idle.get(of('pool_available'))).toBe(6);
  expect(idle.get(of('schema_cache_loads_total', ',status="success"'))).toBe(0);

  for (let i = 0; i < 10; i++) await gw.expect('GET /r/t', { status: 200, body: '[]' });
  const used = await scrape(gw);
  const loads = used.get(of('schema_cache_loads_total', ',status="success"')) ?? 0;
  expect(loads).toBeGreaterThanOrEqual(1);
  expect(loads).toBeLessThanOrEqual(2);
  expect(used.get(of('schema_cache_load_seconds_count'))).toBe(loads);
  // One batch per request and per schema load; a worker may get its schema from another one.
  const readings = (used.get(of('query_seconds_count')) ?? 0) - 10;
  expect(readings).toBeGreaterThanOrEqual(1);
  expect(readings).toBeLessThanOrEqual(loads);
  expect(used.get(of('pool_timeouts_total'))).toBe(0);
});

test('metrics show requests that wait for a connection, and count those that time out', async (t) => {
  const { dsn, adminDsn, host, port, database } = await postgres(FIXTURE);
  const gw = await startGateway(
    t,
    `server { ${METRICS}
       location /r/ { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_pool_size 1; dbrest_pool_timeout 2s; } }`,
  );
  const of = (metric: string) => `gw_dbrest_${metric}{database="${host}:${port}/${database}"}`;
  await gw.expect('GET /r/t', { status: 200 });
  const holder = new pg.Client(adminDsn);
  await holder.connect();
  try {
    await holder.query('select pg_advisory_lock(77)');
    const held = gw.fetch('/r/gate');
    await eventually(gw, (now) => expect(now.get(of('pool_available'))).toBe(0));
    const waiting = [gw.fetch('/r/t'), gw.fetch('/r/t')];
    for (const { status } of await Promise.all(waiting)) expect(status).toBe(504);
    await eventually(gw, (now) => expect(now.get(of('pool_timeouts_total'))).toBe(2));
    await holder.query('select pg_advisory_unlock(77)');
    expect((await held).status).toBe(200);
    await eventually(gw, (now) => expect(now.get(of('pool_available'))).toBe(1));
  } finally {
    await holder.end();
  }
});

test('a database without a location has no pool in the metrics', async (t) => {
  const { dsn } = await postgres(FIXTURE);
  const location = `location /r/ { dbrest_pass ${dsn}; dbrest_anon_role anon; }`;
  const gw = await startGateway(t, `server { ${METRICS} ${location} }`);
  const pools = (metrics: ReadonlyMap<string, number>) =>
    [...metrics.keys()].filter((name) => /pool_max/.test(name));
  expect(pools(await scrape(gw))).toHaveLength(1);
  expect(await gw.reload(`server { ${METRICS} }`)).toBe('done');
  await eventually(gw, (now) => expect(pools(now)).toEqual([]));
});

test('tokens that are looked up and known are counted', async (t) => {
  const { dsn } = await postgres(FIXTURE);
  const gw = await startGateway(
    t,
    `server { ${METRICS} location /r/ { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}"; } }`,
  );
  const headers = bearer(sign({ role: 'web_user' }));
  for (let i = 0; i < 5; i++) await gw.expect('GET /r/t', { status: 200 }, { headers });
  const metrics = await scrape(gw);
  expect(metrics.get('gw_dbrest_jwt_cache_requests_total')).toBe(5);
  expect(metrics.get('gw_dbrest_jwt_cache_hits_total')).toBe(4);
  expect(metrics.get('gw_dbrest_jwt_cache_evictions_total')).toBe(0);
});
