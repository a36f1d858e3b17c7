import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll, beforeEach, expect, onTestFailed, onTestFinished, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import type { ReceivedResponse } from '../../harness/http.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { throughProxy } from './database-proxy.ts';

/** Requests to a gate wait while the keeper holds its lock. */
const FIXTURE = `
  create function stable_gate() returns int stable language plpgsql
    as $$ begin perform pg_advisory_xact_lock_shared(1); return 1; end $$;
  create function volatile_gate() returns int volatile language plpgsql
    as $$ begin perform pg_advisory_xact_lock_shared(1); return 1; end $$;
  create view gate as select 1 as n from (select pg_advisory_xact_lock_shared(1)) l;
  create view pid as select pg_backend_pid() as pid;
  create table items (id int);
  create table plain (id int);
  create function wait() returns trigger language plpgsql
    as $$ begin perform pg_advisory_xact_lock_shared(1); return new; end $$;
  create trigger t before insert on items for each row execute function wait();
  grant select on gate, pid to anon;
  grant insert, select on items, plain to anon;
`;

const load = oneGateway();
let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

let keeper: pg.Client;
beforeEach(async (t) => {
  keeper = new pg.Client(db.adminDsn);
  await keeper.connect();
  await keeper.query('select pg_advisory_lock(1)');
  t.onTestFinished(() => keeper.end());
});

/** Resolves with the backend that waits at the gate, once it differs from `before`. */
async function waiting(before?: number): Promise<number> {
  const sql = `select pid from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`;
  for (;;) {
    const [row] = (await keeper.query<{ pid: number }>(sql)).rows;
    if (row && row.pid !== before) return row.pid;
    await sleep(5);
  }
}

const open = (): Promise<unknown> => keeper.query('select pg_advisory_unlock(1)');

const serve = (dsn: string, poolSize = 1): Promise<Gateway> =>
  load(
    { onTestFinished, onTestFailed },
    `server { location /api/ { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_pool_size ${poolSize}; } }`,
  );

function ask(gw: Gateway, request: string): Promise<ReceivedResponse> {
  const [method = '', path = ''] = request.split(' ');
  const json = { headers: { 'content-type': 'application/json' }, body: '{}' };
  return gw.fetch(path, { method, ...(method === 'POST' && json) });
}

const requests: [request: string, isRepeated: boolean][] = [
  ['GET /api/gate', true],
  ['HEAD /api/gate', true],
  ['GET /api/rpc/stable_gate', true],
  ['POST /api/rpc/stable_gate', true],
  ['GET /api/rpc/volatile_gate', false],
  ['POST /api/rpc/volatile_gate', false],
  ['POST /api/items', false],
];
test.each(requests)('%s is repeated when its session ends: %s', async (request, isRepeated) => {
  const gw = await serve(db.dsn);
  const response = ask(gw, request);
  const killed = await waiting();
  await keeper.query('select pg_terminate_backend($1)', [killed]);
  if (isRepeated) await waiting(killed);
  else await response;
  await open();
  expect(await response).toMatchObject({ status: isRepeated ? 200 : 503 });
  expect(await db.query('select from items')).toEqual([]);
});

test('a read whose session ends is repeated on a session that is opened later', async () => {
  const gw = await serve(db.dsn, 2);
  const first = ask(gw, 'GET /api/gate');
  await waiting();
  const [row] = JSON.parse((await ask(gw, 'GET /api/pid')).body) as { pid: number }[];
  const idle = row?.pid ?? 0;
  const killed = await waiting();
  // A session that ended unnoticed: it sends nothing.
  process.kill(idle, 'SIGSTOP');
  onTestFinished(() => void process.kill(idle, 'SIGCONT'));
  await keeper.query('select pg_terminate_backend($1)', [killed]);
  expect(await waiting(killed)).not.toBe(idle);
  await open();
  expect((await first).status).toBe(200);
});

/** A data source name that loses the first session at its first request. */
function lossy(): Promise<string> {
  let hasLost = false;
  return throughProxy(db, (bytes, { client, upstream }) => {
    const isFirst = !hasLost && bytes.includes('client_connection_check_interval');
    hasLost ||= isFirst;
    if (isFirst) client.destroy();
    else upstream.write(bytes);
  });
}

test.each([
  ['GET /api/pid', 200],
  ['POST /api/plain', 201],
])('%s is served by another session when the first is lost before its statement', async (request, status) => {
  const gw = await serve(await lossy());
  expect(await ask(gw, request)).toMatchObject({ status });
});

/** PostgreSQL's message for a prepared statement that its session does not have (documentation, 55.8). */
function missingStatement(): Buffer {
  const fields = Buffer.from('SERROR\0VERROR\0C26000\0Mprepared statement "gw1" does not exist\0\0');
  const head = Buffer.from('E....');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

// A pooler may find the statement missing and lose the server in the same moment. The request had no effect.
test.each([
  ['GET /api/pid', 200],
  ['POST /api/plain', 503],
])('%s meets a lost connection behind a statement that was missing', async (request, status) => {
  let isArmed = false;
  const dsn = await throughProxy(db, (bytes, { client, upstream }) => {
    if (!isArmed) return void upstream.write(bytes);
    isArmed = false;
    client.end(missingStatement());
  });
  const gw = await serve(dsn);
  expect((await ask(gw, request)).status).toBeLessThan(300);
  isArmed = true;
  expect(await ask(gw, request)).toMatchObject({ status });
});
