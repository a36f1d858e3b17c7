import { beforeAll, expect, test, vi } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import type { PoolMode } from '../../harness/own-pgbouncer.ts';
import { pgbouncer } from '../../harness/pgbouncer.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';

const FIXTURE = `
  create table items (id int primary key, word text);
  insert into items select i, 'item ' || i from generate_series(1, 5) i;
  create function keep(name text, value text) returns text volatile language sql
    as $$ select set_config(name, value, false) $$;
  create function lock() returns boolean volatile language sql as $$ select pg_try_advisory_lock(7) $$;
  create function nap() returns text volatile language sql as $$ select pg_sleep(20)::text $$;
  create view state as select coalesce(current_setting('app.kept', true), '') as kept, current_setting('DateStyle') as dates,
    current_setting('client_encoding') as encoding, current_setting('application_name') as application,
    (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks;
  grant select, insert, update, delete on items to anon;
  grant select on state to anon;
`;

const file = wholeFile();
let db: TestDatabase;
const gateways = new Map<PoolMode, Gateway>();
const MODES = ['transaction', 'session', 'statement'] as const;

beforeAll(async () => {
  db = await postgres(FIXTURE);
  for (const mode of MODES) {
    const { dsn } = await pgbouncer(file, db, { mode });
    // A pooler that keeps sessions has but five of them for all workers.
    const size = mode === 'session' ? 1 : 8;
    const location = (path: string, more: string): string =>
      `location ${path} { dbrest_pass ${dsn}; dbrest_anon_role anon; dbrest_pool_size ${size}; ${more} }`;
    const gw = await startGateway(
      file,
      `server {
         ${location('/api/', 'dbrest_batch on;')}
         ${location('/prepared/', 'dbrest_prepared_statements on;')}
         ${location('/events/', 'dbrest_listen news;')}
       }`,
      { workers: 2 },
    );
    gateways.set(mode, gw);
  }
});

const through = (mode: PoolMode): Gateway => gateways.get(mode) as Gateway;
const JSON_TYPE = { 'content-type': 'application/json' };
const post = (
  body: unknown,
  prefer = '',
): { method: string; headers: Record<string, string>; body: string } => ({
  method: 'POST',
  headers: { ...JSON_TYPE, ...(prefer && { prefer }) },
  body: JSON.stringify(body),
});

test.each(MODES)('a pooler in %s mode is told once', async (mode) => {
  const gw = through(mode);
  await Promise.all(Array.from({ length: 40 }, () => gw.expect('GET /api/items?id=eq.1', { status: 200 })));
  await gw.waitForLog(/a connection pooler stands in front of/);
  expect(gw.errorLog().match(/a connection pooler stands in front of/g)).toHaveLength(1);
});

test.each(MODES)(
  'what requests leave in a session of a pooler in %s mode, others do not see',
  async (mode) => {
    const gw = through(mode);
    const before = (await gw.fetch('/api/state')).body;
    expect(JSON.parse(before)).toMatchObject([{ encoding: 'UTF8', application: 'gw', locks: 0 }]);
    const settings = Object.entries({
      'app.kept': 'x',
      DateStyle: 'SQL, DMY',
      client_encoding: 'LATIN1',
      role: 'web_user',
    });
    for (const [name, value] of settings) {
      expect(await gw.fetch('/api/rpc/keep', post({ name, value }))).toMatchObject({ status: 200 });
      expect((await gw.fetch('/api/state')).body).toBe(before);
    }
    await gw.expect('POST /api/rpc/lock', { status: 200 });
    expect((await gw.fetch('/api/state')).body).toBe(before);
  },
);

test.each(MODES)('statements may be prepared behind a pooler in %s mode', async (mode) => {
  const gw = through(mode);
  const paths = Array.from({ length: 60 }, (_, i) => ({
    id: 1 + (i % 5),
    path: `/prepared/items?id=eq.${1 + (i % 5)}&limit=${1 + (i % 7)}`,
  }));
  const seen = await Promise.all(paths.map(({ path }) => gw.fetch(path)));
  const right = paths.map(({ id }) => JSON.stringify([{ id, word: `item ${id}` }]));
  expect(seen.map(({ body }) => body)).toEqual(right);
});

test('notifications come by way of a pooler that keeps sessions, and are refused behind another', async () => {
  const accept = { accept: 'text/event-stream' };
  for (const mode of ['transaction', 'statement'] as const) {
    await through(mode).waitForLog(
      /\[error\] .*cannot listen to .*: a connection pooler stands in between and passes on no notif/,
    );
    await through(mode).expect('GET /events/', { status: 503, body: /DBREST124/ }, { headers: accept });
  }
  const gw = through('session');
  expect(gw.errorLog()).not.toContain('cannot listen');
  await db.query(`alter table items add extra int; notify pgrst, 'reload schema'`);
  await gw.waitForLog(/the schema of .* is read again/);
});

const held: [method: string, path: string, body: string][] = [
  ['PUT', 'items?id=eq.9', '{"id":9,"word":"nine"}'],
  ['POST', 'rpc/batch', '[{"method":"POST","path":"/items","body":{"id":10,"word":"ten"}}]'],
];
test.each(held)(
  '%s %s is refused where there are no transactions, and done elsewhere',
  async (method, path, body) => {
    const init = { method, body, headers: JSON_TYPE };
    const refused = await through('statement').fetch(`/api/${path}`, init);
    expect([refused.status, refused.body]).toEqual([501, expect.stringContaining('DBREST126')]);
    expect(await db.query('select from items where id > 8')).toEqual([]);
    for (const mode of ['transaction', 'session'] as const) {
      expect((await through(mode).fetch(`/api/${path}`, init)).status).toBeLessThan(300);
      expect(await db.query('delete from items where id > 8 returning id')).toHaveLength(1);
    }
  },
);

test('where no location has streams, it is a warning that nobody can listen', async (t) => {
  const { dsn } = await pgbouncer(t, db, { mode: 'transaction' });
  const gw = await startGateway(
    t,
    `server { location /api/ { dbrest_pass ${dsn}; dbrest_anon_role anon; } }`,
  );
  const [line] = await gw.waitForLog(/\[\w+\] .*cannot listen to .*: a connection pooler stands in between/);
  expect(line).toContain('[warn]');
});

test('a pooler that refuses a parameter of the connection string is no riddle', async (t) => {
  const { dsn } = await pgbouncer(t, db, { mode: 'transaction' });
  const pass = `dbrest_pass "${dsn}?options=-cgeqo%3Doff"; dbrest_anon_role anon;`;
  const gw = await startGateway(t, `server { location /api/ { ${pass} } }`);
  await gw.expect('GET /api/items', { status: 503 });
  await gw.waitForLog(/unsupported startup parameter: options; leave "options" out of the connection string/);
});

test('a request that its client gives up is cancelled by way of a pooler, and no other one', async () => {
  const gw = through('transaction');
  const napping = (): Promise<unknown[]> =>
    db.query(`select from pg_stat_activity where datname = current_database() and query like '%nap%' and state = 'active'
      and pid <> pg_backend_pid()`);
  const client = await gw.connect();
  client.write('POST /api/rpc/nap HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n');
  await vi.waitFor(async () => expect(await napping()).toHaveLength(1), { timeout: 10_000 });
  client.destroy();
  await vi.waitFor(async () => expect(await napping()).toEqual([]), { timeout: 10_000 });
  await gw.expect('GET /api/items?id=eq.1', { status: 200 });
});
