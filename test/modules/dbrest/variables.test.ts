import { beforeAll, expect, onTestFailed, onTestFinished, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { SECRET, sign } from '../../harness/tokens.ts';

const FIXTURE = `
  create table items (id int primary key, name text);
  insert into items select i, 'item ' || i from generate_series(1, 5) i;
  create table closed (secret text);
  create function add(a int, b int) returns int language sql immutable as 'select a + b';
  create view names as select current_setting('application_name') as name;
  create function raised() returns int language plpgsql as
    $$ begin raise sqlstate 'PT418' using message = E'one\nline', detail = 'hidden'; end $$;
  grant all on items, names to anon, web_user;
`;
const load = oneGateway({ main: 'error_log error.log info;' });
let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

const start = (conf = ''): Promise<Gateway> =>
  load(
    { onTestFinished, onTestFailed },
    (dir) => `
    dbrest_schemas public;
    dbrest_anon_role anon;
    dbrest_jwt_secret "${SECRET}";
    log_format told '$request_method $uri $status role=$dbrest_role relation=$dbrest_relation code=$dbrest_code rows=$dbrest_rows time=$dbrest_db_time';
    access_log ${dir}/access.log told;
    limit_req_zone $dbrest_role$dbrest_relation zone=each:1m rate=1r/m;
    proxy_cache_path ${dir}/cache keys_zone=rows:1m;
    server {
      location /api/ { dbrest_pass "${db.dsn}"; ${conf} }
      location /limited/ { dbrest_pass "${db.dsn}"; limit_req zone=each; limit_req_status 429; }
      location /kept/ { dbrest_pass "${db.dsn}"; dbrest_cache rows; dbrest_cache_valid 1m; }
      location /plain/ { return 200; }
    }`,
  );

const TIME = String.raw`\d+\.\d{3}`;
const user = (): Record<string, string> => ({ authorization: `Bearer ${sign({ role: 'web_user' })}` });
const json = { 'content-type': 'application/json' };
const lines: [request: string, line: string, headers?: Record<string, string>, body?: string][] = [
  ['GET /api/items?id=lt.4', `200 role=anon relation=public.items code=- rows=3 time=${TIME}`],
  ['GET /api/items?id=eq.1', `200 role=web_user relation=public.items code=- rows=1 time=${TIME}`, user()],
  ['HEAD /api/items', `200 role=anon relation=public.items code=- rows=5 time=${TIME}`],
  [
    'PATCH /api/items?id=lt.3',
    `204 role=anon relation=public.items code=- rows=2 time=${TIME}`,
    json,
    '{"name":"a"}',
  ],
  ['GET /api/rpc/add?a=1&b=2', `200 role=anon relation=public.add code=- rows=1 time=${TIME}`],
  ['GET /api/none', '404 role=anon relation=public.none code=PGRST205 rows=- time=-'],
  ['GET /api/closed', `401 role=anon relation=public.closed code=42501 rows=- time=${TIME}`],
  ['GET /api/a/b', '404 role=- relation=- code=PGRST125 rows=- time=-'],
  ['GET /api/', `200 role=anon relation=- code=- rows=- time=${TIME}`],
  [`GET /api/${'x'.repeat(64)}`, '404 role=anon relation=- code=PGRST205 rows=- time=-'],
  ['GET /plain/', '200 role=- relation=- code=- rows=- time=-'],
];
test.each(lines)('the access log tells of %s: %s', async (...[request, line, headers, body]) => {
  const gw = await start();
  const [method = '', target = ''] = request.split(' ');
  await gw.fetch(target, { method, ...(headers && { headers }), ...(body !== undefined && { body }) });
  const uri = target.replace(/\?.*/, '').replaceAll('/', String.raw`\/`);
  const [found] = await gw.waitForAccessLog(new RegExp(`^${method} ${uri} .*$`, 'm'));
  expect(found).toMatch(new RegExp(` ${line}$`));
});

test('a refused token has no role', async () => {
  const gw = await start('dbrest_jwt_invalid reject;');
  await gw.expect('GET /api/items', { status: 401 }, { headers: { authorization: 'Bearer a.b.c' } });
  await gw.waitForAccessLog(
    /^GET \/api\/items 401 role=- relation=public.items code=PGRST301 rows=- time=-$/m,
  );
});

test('requests are limited by role and relation', async () => {
  const gw = await start();
  const status = async (path: string, headers = {}): Promise<number> =>
    (await gw.fetch(`/limited/${path}`, { headers })).status;
  expect(await status('items')).toBe(200);
  expect(await status('items')).toBe(429);
  expect(await status('names')).toBe(200);
  expect(await status('items', user())).toBe(200);
  expect(await status('items', user())).toBe(429);
});

test('a response from the cache tells role and relation, and no time of the database', async () => {
  const gw = await start();
  for (let i = 0; i < 2; i++) await gw.expect('GET /kept/items?id=lt.4', { status: 200 });
  await gw.waitForAccessLog(
    new RegExp(
      `^GET /kept/items 200 role=anon relation=public.items code=- rows=3 time=${TIME}\n` +
        'GET /kept/items 200 role=anon relation=public.items code=- rows=- time=-$',
      'm',
    ),
  );
});

test('the error log tells SQLSTATE and message of what PostgreSQL refused, at info and without details', async () => {
  const gw = await start();
  await gw.expect('GET /api/closed', { status: 401 });
  await gw.waitForLog(/\[info\] .*dbrest: 42501 permission denied for table closed/);
  await gw.expect('POST /api/rpc/raised', { status: 418 });
  await gw.waitForLog(/\[info\] .*dbrest: PT418 one line/);
  await gw.expect('GET /api/items?id=eq.x', { status: 400 });
  await gw.waitForLog(/\[info\] .*dbrest: 22P02 /);
  expect(gw.errorLog()).not.toContain('hidden');
});

test('dbrest_request_comment tells the database the id of each request, with one prepared statement for all', async () => {
  const names = async (conf: string): Promise<string[]> => {
    const gw = await start(`${conf} dbrest_pool_size 1; add_header X-Id $request_id;`);
    const seen: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { body, headers } = await gw.fetch('/api/names');
      const [{ name }] = JSON.parse(body) as [{ name: string }];
      seen.push(name.replace(headers.get('x-id') ?? '', 'ID'));
    }
    return seen;
  };
  expect(await names('dbrest_request_comment on;')).toEqual(['gw ID', 'gw ID', 'gw ID']);
  expect(new Set(await names('')).size).toBe(1);
  expect(await names('')).not.toContain('gw ID');
});

test.each([
  ['own-7.a:b_c', 'gw own-7.a:b_c'],
  ['a"b,c', 'gw'],
  ['x'.repeat(61), 'gw'],
])('dbrest_request_comment tells the database the id %j of request_id_header as %j', async (id, name) => {
  const gw = await start('request_id_header X-Own; dbrest_request_comment on;');
  const { body } = await gw.fetch('/api/names', { headers: { 'X-Own': id } });
  expect(JSON.parse(body)).toEqual([{ name }]);
});
