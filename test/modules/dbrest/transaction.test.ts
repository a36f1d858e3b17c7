import pg from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { readKeySource } from '../../../src/tokens/index.ts';
import type { TxEnd } from '../../../src/modules/dbrest/directives/index.ts';
import { type Direct, direct } from './direct.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

const FIXTURE = `
  create table items (id int primary key, name text);
  insert into items values (1, 'a'), (2, 'b');
  create view settings as select
    current_setting('app.settings.greeting', true) as greeting,
    current_setting('app.settings.a.b', true) as nested,
    current_setting('response.headers', true) as headers;
  create view tells as select pg_notify('told', 'committed') is not null as told;
  create schema hooks;
  create function hooks."Check it"() returns void language plpgsql as $$ begin
    if current_setting('request.path') like '%/items' and current_user = 'anon' then
      raise sqlstate 'PT402' using message = 'pay first', hint = 'sign in';
    end if;
    perform set_config('response.headers', '[{"X-Seen-By": "' || current_user || '"}, {"Range-Unit": "rows"}]', true);
    if current_setting('request.path') like '%/settings' then
      perform set_config('response.status', '203', true), set_config('response.headers', '[{"Cache-Control": "no-store"}]', false);
    end if;
  end $$;
  create function bad_headers() returns void language sql as $$ select set_config('response.headers', '{"a": "b"}', true) $$;
  create function bad_status() returns void language sql as $$ select set_config('response.status', '99', true) $$;
  create function no_rows() returns setof int language sql as $$ select 1 where false $$;
  grant usage on schema hooks to anon, web_user;
  grant select on all tables in schema public to anon, web_user;
`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

const source = readKeySource(SECRET);
const location = (config: Parameters<typeof direct>[2] = {}): Promise<Direct> =>
  direct({ onTestFinished }, db.dsn, {
    ...('fault' in source ? {} : { jwtKeys: source }),
    poolSize: 1,
    ...config,
  });
const user = bearer(sign({ role: 'web_user' }));

test('dbrest_setting reaches the database, in every request', async () => {
  const api = await location({
    settings: [
      { name: 'app.settings.greeting', value: "it's" },
      { name: 'app.settings.a.b', value: '' },
    ],
  });
  for (let i = 0; i < 2; i += 1) {
    const { body } = await api.get('/api/settings?select=greeting,nested');
    expect(JSON.parse(body)).toEqual([{ greeting: "it's", nested: '' }]);
  }
});

const preRequest = ['hooks', 'Check it'];

test('dbrest_pre_request runs as the role of the request and may refuse it', async () => {
  const api = await location({ preRequest });
  const refused = await api.get('/api/items');
  expect([refused.status, JSON.parse(refused.body)]).toEqual([
    402,
    { code: 'PT402', details: null, hint: 'sign in', message: 'pay first' },
  ]);
  expect(await api.get('/api/items?select=id&id=eq.1', user)).toMatchObject({
    status: 200,
    body: '[{"id":1}]',
  });
});

test('dbrest_pre_request sets headers and status of its own request only', async () => {
  const api = await location({ preRequest });
  const headers = { 'x-seen-by': 'web_user', 'range-unit': 'rows', 'content-range': '0-1/2' };
  expect(await api.get('/api/items', { ...user, prefer: 'count=exact' })).toMatchObject({
    status: 200,
    headers,
  });
  expect(await api.get('/api/settings')).toMatchObject({
    status: 203,
    headers: { 'cache-control': 'no-store' },
  });
  const plain = await location();
  expect(JSON.parse((await plain.get('/api/settings?select=headers')).body)).toEqual([{ headers: '' }]);
});

test.each([
  ['bad_headers', 500, 'PGRST111'],
  ['bad_status', 500, 'PGRST112'],
  ['no_rows', 500, 'PGRSTX00'],
  ['missing', 404, '42883'],
])('dbrest_pre_request %s gives %d', async (name, status, code) => {
  const api = await location({ preRequest: ['public', name] });
  expect(await api.get('/api/items')).toMatchObject({
    status,
    headers: { 'proxy-status': `gw; error=${code}` },
  });
});

const ends: [txEnd: TxEnd, prefer: string, told: string[], applied: string | undefined][] = [
  ['commit', 'tx=rollback', ['committed'], undefined],
  ['commit-allow-override', 'tx=commit', ['committed'], 'tx=commit'],
  ['commit-allow-override', 'tx=rollback', [], 'tx=rollback'],
  ['rollback', 'tx=commit', [], undefined],
  ['rollback-allow-override', 'tx=commit', ['committed'], 'tx=commit'],
  ['rollback-allow-override', '', [], undefined],
];
test.each(ends)('dbrest_tx_end %s with Prefer: %s gives %j', async (...[txEnd, prefer, told, applied]) => {
  const listener = new pg.Client(db.adminDsn);
  onTestFinished(() => listener.end());
  await listener.connect();
  const heard: (string | undefined)[] = [];
  const last = new Promise<void>((resolve) => {
    listener.on('notification', ({ payload }) => (payload === 'last' ? resolve() : heard.push(payload)));
  });
  await listener.query('listen told');
  const api = await location({ txEnd });
  const { status, body, headers } = await api.get('/api/tells', { prefer });
  expect([status, body, headers['preference-applied']]).toEqual([200, '[{"told":true}]', applied]);
  // Notifications come in the order of commits.
  await db.query(`select pg_notify('told', 'last')`);
  await last;
  expect(heard).toEqual(told);
});

test('dbrest_tx_end rollback keeps the connection usable when a request fails', async () => {
  const api = await location({ txEnd: 'rollback' });
  const pid = 'select pid from pg_stat_activity where datname = current_database() and application_name = $1';
  await api.get('/api/items');
  const before = await db.query(pid, ['gw']);
  for (const query of ['id=eq.x', 'id=eq.1', 'id=eq.x']) await api.get(`/api/items?${query}`);
  expect(await api.get('/api/items?id=eq.2')).toMatchObject({ status: 200 });
  expect(await db.query(pid, ['gw'])).toEqual(before);
});

describe('dbrest_plan', () => {
  const PLAN = 'application/vnd.pgrst.plan';
  test('gives the plan instead of rows', async () => {
    const api = await location({ plan: true });
    const text = await api.get('/api/items?id=eq.1', { accept: PLAN });
    expect(text.headers).toMatchObject({
      'content-type': 'application/vnd.pgrst.plan+text; for="application/json"; charset=utf-8',
    });
    expect(text.body).toMatch(/Index Scan|Bitmap/);
    expect(text.headers['content-range']).toBeUndefined();
    const accept =
      'application/vnd.dbrest.plan+json; for="text/csv"; options=analyze|verbose|buffers|settings';
    const json = JSON.parse((await api.get('/api/items?id=eq.1', { accept })).body) as [
      { 'Execution Time': number },
    ];
    expect(json[0]['Execution Time']).toBeGreaterThan(0);
  });

  test('shows the use of the write-ahead log where the server can', async () => {
    const api = await location({ plan: true });
    const accept = `${PLAN}+json; options=analyze|wal`;
    const response = await api.get('/api/items?id=eq.1', { accept });
    if (db.majorVersion < 13) expect(response.body).toContain('unrecognized EXPLAIN option');
    else expect(response.body).toContain('"WAL Records"');
  });

  test('is refused like any unknown type when it is off', async () => {
    expect(await (await location()).get('/api/items', { accept: PLAN })).toMatchObject({ status: 406 });
  });
});

test('dbrest_server_timing names the parts of a request', async () => {
  const timing = async (request: string, serverTiming: boolean): Promise<string | undefined> => {
    const { x, done } = (await location({ serverTiming })).start(request);
    await done;
    return x.sent?.headers['server-timing']?.replace(/\b\d+\.\d\b/g, '1');
  };
  const all = 'jwt;dur=1, parse;dur=1, plan;dur=1, transaction;dur=1, response;dur=1';
  expect(await timing('GET /api/items', false)).toBeUndefined();
  expect(await timing('GET /api/items', true)).toBe(all);
  expect(await timing('GET /api/', true)).toBe(all);
  expect(await timing('OPTIONS /api/items', false)).toBeUndefined();
  expect(await timing('OPTIONS /api/items', true)).toBe(all.replace(', transaction;dur=1', ''));
});
