import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { ownPostgres } from '../../harness/own-postgres.ts';
import { freePort } from '../../harness/ports.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, direct } from './direct.ts';

/** A read of `gate` waits for the lock, so the test decides how long it runs. */
const FIXTURE = `
  create view gate as select pg_backend_pid() as pid from (select pg_advisory_xact_lock_shared(1)) l;
  create view pid as select pg_backend_pid() as pid;
  grant select on gate, pid to anon;
`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

let gate: { open(): Promise<void>; waiting(count: number): Promise<number[]> };
beforeEach(async (t) => {
  const keeper = new pg.Client(db.adminDsn);
  await keeper.connect();
  await keeper.query('select pg_advisory_lock(1)');
  t.onTestFinished(() => keeper.end());
  gate = {
    open: async () => void (await keeper.query('select pg_advisory_unlock(1)')),
    /** Resolves with the process ids once `count` queries wait at the gate. */
    waiting: async (count) => {
      for (;;) {
        const sql = `select pid from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`;
        const pids = (await keeper.query<{ pid: number }>(sql)).rows.map(({ pid }) => pid);
        if (pids.length === count) return pids;
        await sleep(5);
      }
    },
  };
});

const pidOf = async (api: Direct): Promise<number> =>
  (JSON.parse((await api.get('/api/pid')).body) as [{ pid: number }])[0].pid;

test('a request beyond a full queue gets 503 and Retry-After', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1, poolQueue: 0 });
  await api.get('/api/pid');
  const first = api.get('/api/gate');
  await gate.waiting(1);
  expect(await api.get('/api/pid')).toMatchObject({
    status: 503,
    headers: { 'proxy-status': 'gw; error=PGRST003', 'retry-after': '1' },
  });
  await gate.open();
  expect((await first).status).toBe(200);
});

test('a wait beyond dbrest_pool_timeout gets 504', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1, poolTimeoutMs: 50 });
  const first = api.get('/api/gate');
  await gate.waiting(1);
  expect(await api.get('/api/pid')).toMatchObject({
    status: 504,
    headers: { 'proxy-status': 'gw; error=PGRST003' },
  });
  await gate.open();
  expect((await first).status).toBe(200);
});

test('a query beyond dbrest_timeout is stopped by the database, and its connection stays in use', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1, timeoutMs: 100 });
  const pid = await pidOf(api);
  expect(await api.get('/api/gate')).toMatchObject({
    status: 500,
    headers: { 'proxy-status': 'gw; error=57014' },
  });
  expect(await pidOf(api)).toBe(pid);
});

test('a read whose backend is killed is served by another', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1 });
  const reading = api.get('/api/gate');
  const [killed] = await gate.waiting(1);
  await db.query('select pg_terminate_backend($1)', [killed]);
  for (let [pid] = await gate.waiting(1); pid === killed; [pid] = await gate.waiting(1)) await sleep(5);
  await gate.open();
  const response = await reading;
  expect(response.status).toBe(200);
  expect(response.body).not.toContain(`${killed}`);
});

test('a read whose backends are killed twice gets 503', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1 });
  const reading = api.get('/api/gate');
  const [first] = await gate.waiting(1);
  await db.query('select pg_terminate_backend($1)', [first]);
  let [second] = await gate.waiting(1);
  while (second === first) [second] = await gate.waiting(1);
  await db.query('select pg_terminate_backend($1)', [second]);
  expect(await reading).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  await gate.open();
  expect((await api.get('/api/gate')).status).toBe(200);
});

test('an idle connection that dies is replaced without a failed request', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1 });
  const pid = await pidOf(api);
  await db.query('select pg_terminate_backend($1)', [pid]);
  expect(await pidOf(api)).not.toBe(pid);
});

test('a client that leaves has its query cancelled, and the connection stays in use', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1 });
  const pid = await pidOf(api);
  for (let i = 0; i < 20; i += 1) {
    const { x, done } = api.start('GET /api/gate');
    await gate.waiting(1);
    x.leave();
    await done;
    expect(x.sent?.status).toBe(undefined);
    expect(await pidOf(api)).toBe(pid);
  }
  await gate.waiting(0);
});

test('a client that leaves while it waits takes no connection', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1 });
  const first = api.get('/api/gate');
  await gate.waiting(1);
  const { x, done } = api.start('GET /api/pid');
  x.leave();
  await gate.open();
  await Promise.all([first, done]);
  expect(x.sent).toBeUndefined();
});

test('a backend that does not reply is given up at the deadline, and others go on', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1, timeoutMs: 100 });
  const pid = await pidOf(api);
  process.kill(pid, 'SIGSTOP');
  t.onTestFinished(() => void process.kill(pid, 'SIGCONT'));
  expect(await api.get('/api/pid')).toMatchObject({
    status: 503,
    headers: { 'proxy-status': 'gw; error=PGRST001', 'retry-after': '1' },
  });
  expect(await pidOf(api)).not.toBe(pid);
});

test('a database that cannot be reached gives 503, and is logged once', async (t) => {
  const api = await direct(t, `host=127.0.0.1 port=${await freePort()}`, {});
  for (let i = 0; i < 5; i += 1) {
    const response = await api.get('/api/pid');
    expect(response).toMatchObject({
      status: 503,
      headers: { 'proxy-status': 'gw; error=PGRST000', 'retry-after': '1' },
    });
    expect(response.body).not.toContain('ECONNREFUSED');
  }
  expect(api.log.filter((line) => line.includes('trying again'))).toHaveLength(1);
  expect(api.log.filter((line) => /PGRST000 .*ECONNREFUSED/.test(line))).toHaveLength(5);
});

test('a server that is restarted is used again without a restart of gw', async (t) => {
  const server = await ownPostgres(
    t,
    'create role anon; create view pid as select pg_backend_pid() as pid; grant select on pid to anon',
  );
  const api = await direct(t, server.dsn);
  const before = await pidOf(api);
  await server.stop();
  expect((await api.get('/api/pid')).status).toBe(503);
  await server.start();
  let response = await api.get('/api/pid');
  while (response.status === 503) response = await api.get('/api/pid');
  expect(response.status).toBe(200);
  expect(response.body).not.toContain(`${before}`);
});
