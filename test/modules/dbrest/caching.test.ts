import pg from 'pg';
import { beforeEach, expect, type TestContext, test } from 'vitest';
import { type Gateway, type GatewayOptions, gatewayPerOptions } from '../../harness/gateway.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { bearer, inSeconds, SECRET, sign } from '../../harness/tokens.ts';

const FIXTURE = `
  create table makers (id int primary key, name text);
  create table films (
    id int primary key, title text, maker int references makers on delete cascade on update cascade, owner text);
  insert into makers values (1, 'Ann'), (2, 'Bob');
  insert into films values (1, 'one', 1, 'ann'), (2, 'two', 2, 'bob');
  create view titles as select id, title from films;
  create view listed as select * from titles;
  create table notes (id int primary key, owner text, text text);
  insert into notes values (1, 'ann', 'of ann'), (2, 'bob', 'of bob');
  alter table notes enable row level security;
  create policy own on notes using (owner = current_setting('request.jwt.claims', true)::json->>'sub');
  create table members (name text primary key);
  create table rooms (id int primary key);
  insert into rooms values (1);
  alter table rooms enable row level security;
  create policy of_members on rooms using (exists (select from members m where m.name = current_setting('request.jwt.claims', true)::json->>'sub'));
  create table logs (id int, day date);
  create table logs_1 () inherits (logs);
  insert into logs_1 values (1, '2026-01-01');
  create function shout(films) returns text stable language sql as $$ select upper($1.title) $$;
  create function total() returns bigint stable language sql as $$ select count(*) from films $$;
  create function roll() returns int volatile language sql as $$ select 1 $$;
  create function brief() returns void stable language plpgsql as $$ begin
    perform set_config('response.headers', '[{"Cache-Control":"max-age=60"}]', true); end $$;
  grant all on all tables in schema public to anon, web_user;
  grant usage on schema public to anon, web_user;
`;

const load = gatewayPerOptions();
let db: TestDatabase;
beforeEach(async () => {
  db = await postgres(FIXTURE);
});

interface Conf {
  /** More directives of the location. */
  readonly location?: string;
  readonly more?: string;
}

const conf =
  ({ location = '', more = '' }: Conf = {}) =>
  (dir: string): string => `
  proxy_cache_path ${dir}/cache keys_zone=rows:1m;
  add_header X-Cache $upstream_cache_status;
  dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}";
  server {
    location /api/ { dbrest_pass ${db.dsn}; dbrest_cache rows; ${location} dbrest_cache_valid 1m; }
    location /plain/ { dbrest_pass ${db.dsn}; }
    ${more}
  }`;

async function serve(t: TestContext, given: Conf = {}, options: GatewayOptions = {}): Promise<Gateway> {
  const gw = await load(t, conf(given), options);
  // Nothing is stored before notifications are heard.
  if (!given.location?.includes('dbrest_cache_listen off'))
    await expect.poll(async () => (await state(gw, '/api/makers?id=eq.0')).split(' ')[0]).toBe('HIT');
  return gw;
}

async function state(gw: Gateway, path: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await gw.fetch(path, { headers });
  return `${response.headers.get('x-cache') ?? ''} ${response.body}`;
}

test('rows are served from the cache', async (t) => {
  const gw = await serve(t);
  const rows = '[{"id":1,"title":"one"}]';
  expect(await state(gw, '/api/films?select=id,title&id=eq.1')).toBe(`MISS ${rows}`);
  expect(await state(gw, '/api/films?select=id,title&id=eq.1')).toBe(`HIT ${rows}`);
  expect(await state(gw, '/api/films?id=eq.1&select=id,title')).toBe(`HIT ${rows}`);
});

test('HEAD and conditional requests are served from the response to GET', async (t) => {
  const gw = await serve(t);
  const { headers } = await gw.fetch('/api/films?id=eq.2');
  expect(headers.get('etag')).toMatch(/^"[\w-]{40}"$/);
  expect(headers.get('content-range')).toBe('0-0/*');
  const head = await gw.fetch('/api/films?id=eq.2', { method: 'HEAD' });
  expect([head.status, head.body, head.headers.get('x-cache')]).toEqual([200, '', 'HIT']);
  expect(head.headers.get('content-range')).toBe('0-0/*');
  const match = { 'if-none-match': headers.get('etag') as string };
  const same = await gw.fetch('/api/films?id=eq.2', { headers: match });
  expect([same.status, same.body, same.headers.get('x-cache')]).toEqual([304, '', 'HIT']);
});

const get = (name: string): string =>
  bearer(sign({ role: 'web_user', sub: name }))['authorization'] as string;
/** Two requests: the second one gets the response to the first only if they are alike. */
const pairs: readonly [
  it: string,
  first: [path: string, headers?: Record<string, string>],
  second: [path: string, headers?: Record<string, string>],
  is: 'HIT' | 'MISS',
][] = [
  ['another filter', ['/api/films?id=eq.1'], ['/api/films?id=eq.2'], 'MISS'],
  ['another type', ['/api/films'], ['/api/films', { accept: 'text/csv' }], 'MISS'],
  ['the same type, spelled otherwise', ['/api/films'], ['/api/films', { accept: 'application/json' }], 'HIT'],
  ['another range', ['/api/films'], ['/api/films', { range: '0-0' }], 'MISS'],
  ['a count', ['/api/films'], ['/api/films', { prefer: 'count=exact' }], 'MISS'],
  ['a preference without effect', ['/api/films'], ['/api/films', { prefer: 'return=minimal' }], 'HIT'],
  ['a role', ['/api/films'], ['/api/films', { authorization: get('ann') }], 'MISS'],
  [
    'another owner of a token',
    ['/api/notes', { authorization: get('ann') }],
    ['/api/notes', { authorization: get('bob') }],
    'MISS',
  ],
  [
    'another token of the same owner',
    ['/api/notes', bearer(sign({ role: 'web_user', sub: 'ann', exp: inSeconds(600), jti: 'a' }))],
    ['/api/notes', bearer(sign({ sub: 'ann', role: 'web_user', exp: inSeconds(900), jti: 'b' }))],
    'HIT',
  ],
  [
    'an owner whose number differs in a digit that numbers of JavaScript do not have',
    ['/api/notes', bearer(sign('{"role":"web_user","sub":9007199254740993}'))],
    ['/api/notes', bearer(sign('{"role":"web_user","sub":9007199254740992}'))],
    'MISS',
  ],
  ['a header that nothing reads', ['/api/films'], ['/api/films', { 'x-tenant': 'b' }], 'HIT'],
  ['a named header', ['/varied/films', { 'x-tenant': 'a' }], ['/varied/films', { 'x-tenant': 'b' }], 'MISS'],
  [
    'claims that do not count',
    ['/narrow/films', bearer(sign({ role: 'web_user', sub: 'ann', email: 'a' }))],
    ['/narrow/films', bearer(sign({ role: 'web_user', sub: 'ann', email: 'b' }))],
    'HIT',
  ],
  [
    'a claim that counts',
    ['/narrow/films', bearer(sign({ role: 'web_user', sub: 'ann' }))],
    ['/narrow/films', bearer(sign({ role: 'web_user', sub: 'bob' }))],
    'MISS',
  ],
  ['another location', ['/api/films'], ['/few/films'], 'MISS'],
];
test('a response is for those who ask for the same as the same', async (t) => {
  const location = `dbrest_pass ${db.dsn}; dbrest_cache rows; dbrest_cache_valid 1m;`;
  const more = `
    location /varied/ { ${location} dbrest_cache_vary X-Tenant; }
    location /narrow/ { ${location} dbrest_cache_claims sub; }
    location /few/ { ${location} dbrest_max_rows 1; }
    location = /purge { cache_purge_api; cache_purge_zone rows; cache_purge_match prefix; cache_purge_allow_all on; }`;
  const gw = await serve(t, { more });
  const seen: string[][] = [];
  for (const [it, first, second] of pairs) {
    await gw.fetch('/purge', {
      method: 'POST',
      body: '{"targets":[""]}',
      headers: { 'content-type': 'application/json' },
    });
    expect((await gw.fetch(first[0], { headers: first[1] ?? {} })).headers.get('x-cache'), it).toBe('MISS');
    const { headers, status } = await gw.fetch(second[0], { headers: second[1] ?? {} });
    expect([200, 206], it).toContain(status);
    seen.push([it, String(headers.get('x-cache'))]);
  }
  expect(seen).toEqual(pairs.map(([it, , , is]) => [it, is]));
});

const rows = (path: string, headers?: Record<string, string>) => [path, headers ?? {}] as const;
const json = { 'content-type': 'application/json' };
/** A read, a write that changes what it shows, and what the next read shows. */
const writes: readonly [
  it: string,
  read: readonly [string, Record<string, string>],
  write: readonly [method: string, path: string, body: string],
  then: string,
][] = [
  [
    'an insert',
    rows('/api/films?select=id'),
    ['POST', '/api/films', '{"id":3}'],
    '[{"id":1}, \n {"id":2}, \n {"id":3}]',
  ],
  [
    'an update',
    rows('/api/films?select=title&id=eq.1'),
    ['PATCH', '/api/films?id=eq.1', '{"title":"x"}'],
    '[{"title":"x"}]',
  ],
  ['a delete', rows('/api/films?select=id&id=eq.2'), ['DELETE', '/api/films?id=eq.2', ''], '[]'],
  [
    'a write through a location without a cache',
    rows('/api/films?select=title&id=eq.1'),
    ['PATCH', '/plain/films?id=eq.1', '{"title":"y"}'],
    '[{"title":"y"}]',
  ],
  [
    'a write to the table of a view of a view',
    rows('/api/listed?select=title&id=eq.1'),
    ['PATCH', '/api/films?id=eq.1', '{"title":"z"}'],
    '[{"title":"z"}]',
  ],
  [
    'a write to a view',
    rows('/api/films?select=title&id=eq.1'),
    ['PATCH', '/api/titles?id=eq.1', '{"title":"v"}'],
    '[{"title":"v"}]',
  ],
  [
    'a write to an embedded table',
    rows('/api/films?select=makers(name)&id=eq.1'),
    ['PATCH', '/api/makers?id=eq.1', '{"name":"Eve"}'],
    '[{"makers":{"name":"Eve"}}]',
  ],
  [
    'a write to a table by whose rows others are ordered',
    rows('/api/makers?select=id,films()&order=films(count).desc,id.desc&id=lt.3'),
    ['PATCH', '/api/films?id=eq.2', '{"maker":1}'],
    '[{"id":1}, \n {"id":2}]',
  ],
  [
    'a write whose foreign keys delete',
    rows('/api/films?select=id'),
    ['DELETE', '/api/makers?id=eq.1', ''],
    '[{"id":3}]',
  ],
  [
    'a write to a table that a policy reads',
    rows('/api/rooms', { authorization: get('ann') }),
    ['POST', '/api/members', '{"name":"ann"}'],
    '[{"id":1}]',
  ],
  [
    'a write to a table that inherits',
    rows('/api/logs?select=id'),
    ['PATCH', '/api/logs_1?id=eq.1', '{"id":7}'],
    '[{"id":7}]',
  ],
  [
    'a write to a table that is inherited',
    rows('/api/logs_1?select=id'),
    ['PATCH', '/api/logs?id=eq.7', '{"id":8}'],
    '[{"id":8}]',
  ],
];
for (const workers of [1, 4]) {
  test(`who has written reads it, with ${workers} workers`, async (t) => {
    const gw = await serve(t, {}, { workers });
    for (const [it, [path, headers], [method, target, body], then] of writes) {
      await state(gw, path, headers);
      expect((await state(gw, path, headers)).split(' ')[0], it).toBe('HIT');
      const { status } = await gw.fetch(target, { method, headers: json, ...(body !== '' && { body }) });
      expect([201, 204], it).toContain(status);
      expect(await state(gw, path, headers), it).toBe(`MISS ${then}`);
    }
  });
}

/** A client of the database other than the gateway. */
async function stranger(t: TestContext): Promise<pg.Client> {
  const client = new pg.Client(db.adminDsn);
  await client.connect();
  t.onTestFinished(() => client.end());
  return client;
}

const announced: readonly [it: string, read: string, sql: string, then: string][] = [
  [
    'a relation',
    '/api/films?select=title&id=eq.1',
    `update films set title = 'n' where id = 1; notify gw_cache, 'public.films'`,
    '[{"title":"n"}]',
  ],
  [
    'the table of a view',
    '/api/listed?select=title&id=eq.1',
    `update films set title = 'm' where id = 1; notify gw_cache, 'public.films'`,
    '[{"title":"m"}]',
  ],
  [
    'a table that is inherited',
    '/api/logs_1?select=id',
    `update logs set id = 9; notify gw_cache, 'public.logs'`,
    '[{"id":9}]',
  ],
  [
    'everything',
    '/api/makers?select=name&id=eq.2',
    `update makers set name = 'Zoe' where id = 2; notify gw_cache, '*'`,
    '[{"name":"Zoe"}]',
  ],
];
test('what the database announces leaves the cache, and nothing else', async (t) => {
  const gw = await serve(t, {}, { workers: 2 });
  const client = await stranger(t);
  for (const [it, path, sql, then] of announced) {
    await state(gw, path);
    await state(gw, '/api/notes');
    expect((await state(gw, path)).split(' ')[0], it).toBe('HIT');
    await client.query(sql);
    await expect.poll(() => state(gw, path)).toContain(then);
    expect((await state(gw, '/api/notes')).split(' ')[0], it).toBe(it === 'everything' ? 'MISS' : 'HIT');
  }
});

test('while nobody listens, nothing is stored or served, and then nothing older', async (t) => {
  const gw = await serve(t, {}, { workers: 2 });
  const client = await stranger(t);
  const path = '/api/films?select=title&id=eq.2';
  await state(gw, path);
  expect(await state(gw, path)).toBe('HIT [{"title":"two"}]');
  const seen = new Set<string>();
  await client.query(`
    update films set title = 'new' where id = 2;
    select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ~ '^listen|^select 1$';`);
  await expect.poll(async () => seen.add(await state(gw, path))).toContain('BYPASS [{"title":"new"}]');
  await expect.poll(async () => seen.add(await state(gw, path))).toContain('HIT [{"title":"new"}]');
  const after = [...seen].slice([...seen].findIndex((text) => text.startsWith('BYPASS')));
  expect(after).not.toContain('HIT [{"title":"two"}]');
});

test('with dbrest_cache_listen off, what others write shows when responses expire', async (t) => {
  const gw = await load(t, conf({ location: 'dbrest_cache_listen off;' }));
  const client = await stranger(t);
  const path = '/api/films?select=title&id=eq.2';
  expect(await state(gw, path)).toContain('MISS');
  expect(await state(gw, path)).toContain('HIT');
  await client.query(`update films set title = 'unheard' where id = 2; notify gw_cache, '*'`);
  expect(await state(gw, path)).toContain('HIT');
  expect(
    (await gw.fetch('/api/films?id=eq.2', { method: 'PATCH', headers: json, body: '{"title":"own"}' }))
      .status,
  ).toBe(204);
  expect(await state(gw, path)).toBe('MISS [{"title":"own"}]');
});

/** Responses that are never stored, and those that are stored only with a directive. */
const kept: readonly [
  it: string,
  location: string,
  path: string,
  headers: Record<string, string>,
  is: 'HIT' | 'MISS' | 'null',
][] = [
  ['a computed column', '', '/api/films?select=shout', {}, 'MISS'],
  ['a computed column with dbrest_cache_rpc', 'dbrest_cache_rpc on;', '/api/films?select=shout', {}, 'HIT'],
  ['a function', '', '/api/rpc/total', {}, 'null'],
  ['a stable function with dbrest_cache_rpc', 'dbrest_cache_rpc on;', '/api/rpc/total', {}, 'HIT'],
  ['a volatile function', 'dbrest_cache_rpc on;', '/api/rpc/roll', {}, 'MISS'],
  ['the description of the API', '', '/api/', {}, 'null'],
  ['an execution plan', 'dbrest_plan on;', '/api/films', { accept: 'application/vnd.pgrst.plan' }, 'null'],
  [
    'a request that chooses the end of its transaction',
    'dbrest_tx_end commit-allow-override;',
    '/api/films',
    { prefer: 'tx=rollback' },
    'null',
  ],
  ['a location with a function before each request', 'dbrest_pre_request brief;', '/api/films', {}, 'null'],
  [
    'the same with dbrest_cache_pre_request',
    'dbrest_pre_request brief; dbrest_cache_pre_request on;',
    '/api/films',
    {},
    'HIT',
  ],
  ['a bypassed request', 'dbrest_cache_bypass $arg_limit;', '/api/films?limit=5', {}, 'BYPASS' as 'MISS'],
  [
    'a request that is not to be stored',
    'dbrest_cache_no_cache $arg_limit;',
    '/api/films?limit=5',
    {},
    'MISS',
  ],
  ['the first use of two', 'dbrest_cache_min_uses 2;', '/api/films', {}, 'MISS'],
];
for (const [it, location, path, headers, is] of kept) {
  test(`the second response to ${it} is ${is === 'null' ? 'made without the cache' : `a ${is}`}`, async (t) => {
    const gw = await load(t, conf({ location: `${location} dbrest_cache_listen off;` }));
    await gw.fetch(path, { headers });
    expect(String((await gw.fetch(path, { headers })).headers.get('x-cache'))).toBe(is);
  });
}

test('the database says how long a response is fresh', async (t) => {
  const location =
    'dbrest_pre_request brief; dbrest_cache_pre_request on; dbrest_cache_listen off; dbrest_cache_valid 0;';
  const gw = await load(t, conf({ location }));
  expect(await state(gw, '/api/makers')).toContain('MISS');
  expect(await state(gw, '/api/makers')).toContain('HIT');
});

test('a changed schema empties the cache', async (t) => {
  const gw = await serve(t);
  const client = await stranger(t);
  await state(gw, '/api/makers');
  expect(await state(gw, '/api/makers')).toContain('HIT');
  await client.query(`alter table makers add extra int; notify pgrst, 'reload schema'`);
  await expect.poll(() => state(gw, '/api/makers')).toContain('"extra":null');
});

test('one request asks for what many want, and an expired response is served while it is updated', async (t) => {
  const location =
    'dbrest_cache_lock on; dbrest_cache_use_stale updating error; dbrest_cache_background_update on; dbrest_cache_valid 1s;';
  const gw = await serve(t, { location });
  const all = await Promise.all(Array.from({ length: 50 }, () => state(gw, '/api/films?select=id&id=eq.1')));
  expect(all.filter((text) => text.startsWith('MISS'))).toHaveLength(1);
  expect(new Set(all.map((text) => text.split(' ').slice(1).join(' ')))).toEqual(new Set(['[{"id":1}]']));
  await expect.poll(() => state(gw, '/api/films?select=id&id=eq.1')).toContain('STALE');
  await expect.poll(() => state(gw, '/api/films?select=id&id=eq.1')).toContain('HIT');
});

test('a large response is stored while it is sent, also for a client that leaves', async (t) => {
  const gw = await serve(t);
  const client = await stranger(t);
  await client.query(
    `insert into films select i, repeat('x', 1000), 1, 'ann' from generate_series(10, 5000) i; notify gw_cache, 'public.films'`,
  );
  await expect.poll(async () => (await gw.fetch('/api/films?select=id&limit=1')).status).toBe(200);
  const path = '/api/films?order=id';
  const plain = await gw.fetch('/plain/films?order=id');
  const left = await gw.connect();
  left.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await left.until(/X-Cache: MISS/);
  left.destroy();
  await expect.poll(async () => (await gw.fetch(path)).headers.get('x-cache')).toBe('HIT');
  const stored = await gw.fetch(path);
  expect(stored.body === plain.body).toBe(true);
  expect(stored.body.length).toBeGreaterThan(5_000_000);
  expect(stored.headers.get('content-type')).toBe(plain.headers.get('content-type'));
  expect(stored.headers.get('content-range')).toBe(plain.headers.get('content-range'));
});

test('a write that the database refuses removes nothing', async (t) => {
  const gw = await serve(t);
  const read = async (): Promise<string | null> =>
    (await gw.fetch('/api/films?select=id')).headers.get('x-cache');
  await expect.poll(read).toBe('HIT');
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"id":1}' };
  await gw.expect('POST /api/films', { status: 409 }, init);
  await gw.expect('DELETE /api/makers?id=eq.x', { status: 400 });
  expect(await read()).toBe('HIT');
});

test('what a batch writes leaves the cache, and what it only reads stays', async (t) => {
  const gw = await serve(t, { location: 'dbrest_batch on; dbrest_cache_listen off;' });
  const send = (items: readonly object[]) =>
    gw.fetch('/api/rpc/batch', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(items),
    });
  const titles = (): Promise<string> => state(gw, '/api/titles?select=title&id=eq.1');
  expect(await titles()).toBe('MISS [{"title":"one"}]');
  await send([{ path: '/films' }, { method: 'POST', path: '/members', body: { name: 'cid' } }]);
  expect(await titles()).toBe('HIT [{"title":"one"}]');
  await send([{ path: '/films' }, { method: 'PATCH', path: '/films?id=eq.1', body: { title: 'new' } }]);
  expect(await titles()).toBe('MISS [{"title":"new"}]');
});
