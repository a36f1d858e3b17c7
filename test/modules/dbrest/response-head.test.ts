import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import { postgres } from '../../harness/postgres.ts';

const FIXTURE = `
  create table items (id int primary key, name text);
  insert into items select i, 'item ' || i from generate_series(1, 5) i;
  create table "two words" (id int);
  create function chosen(status text) returns int language plpgsql as
    $$ begin perform set_config('response.status', status, true); return 1; end $$;
  create function chosen_vary() returns int language plpgsql as
    $$ begin perform set_config('response.headers', '[{"Vary": "X-Own"}]', true); return 1; end $$;
  create function raised(code text, message text) returns int language plpgsql as
    $$ begin execute format('do $x$ begin raise sqlstate %L using message = %L; end $x$', code, message); end $$;
  create function raised_status(status int) returns int language plpgsql as
    $$ begin raise sqlstate 'PGRST' using message = '{"code": "A", "message": "b"}',
      detail = json_build_object('status', status, 'headers', '{}'::json)::text; end $$;
  create function paths() returns json language sql stable as
    $$ select json_build_array(current_setting('request.path'), current_setting('request.uri')) $$;
  create view seen as select current_setting('request.path') as path, current_setting('request.uri') as uri;
  grant all on all tables in schema public to anon;
`;
const CONF = (dsn: string): string => `
  dbrest_schemas public;
  dbrest_anon_role anon;
  gzip_types application/json;
  proxy_cache_path cache keys_zone=rows:1m;
  server {
    location /api/ { dbrest_pass "${dsn}"; }
    location /deep/er/rest/v1/ { dbrest_pass "${dsn}"; }
    location /deep/rpc/ { dbrest_pass "${dsn}"; }
    location ~ ^/any/ { dbrest_pass "${dsn}"; }
    location /short/ { rewrite ^/short/(.*)$ /api/items?id=eq.$1 last; }
    location /added/ { dbrest_pass "${dsn}"; dbrest_cors_origins https://page.example; add_header Vary "X-Added, prefer"; }
    location /packed/ { dbrest_pass "${dsn}"; gzip on; gzip_vary on; gzip_min_length 1; }
    location /kept/ { dbrest_pass "${dsn}"; dbrest_cache rows; dbrest_cache_valid 1m; add_header X-Cache $upstream_cache_status; }
  }`;

const load = oneGateway();
let dsn: string;
beforeAll(async () => {
  ({ dsn } = await postgres(FIXTURE));
});
const start = (): Promise<Gateway> => load({ onTestFinished }, CONF(dsn));

const ALWAYS = 'Accept, Prefer, Range';
const varying: [request: string, status: number, vary: string | null, headers?: Record<string, string>][] = [
  ['GET /api/items', 200, ALWAYS],
  ['HEAD /api/items', 200, ALWAYS],
  ['GET /api/', 200, ALWAYS],
  ['OPTIONS /api/items', 200, ALWAYS],
  ['DELETE /api/items?id=eq.99', 204, ALWAYS],
  ['POST /api/rpc/none', 404, null],
  ['GET /api/rpc/paths', 200, ALWAYS],
  ['POST /api/rpc/chosen_vary', 200, 'X-Own'],
  ['GET /api/none', 404, null],
  ['GET /added/items', 200, `X-Added, Prefer, Accept, Range, Origin`],
  ['GET /added/none', 404, 'Origin'],
  ['GET /packed/items', 200, `Accept-Encoding, ${ALWAYS}`, { 'accept-encoding': 'gzip' }],
];
test.each(varying)('the response to %s (%i) varies by %s', async (...[request, status, vary, headers]) => {
  const gw = await start();
  await gw.expect(request, { status, headers: { vary } }, headers && { headers });
});

test('a response from the cache varies as others do, and is found whatever the names in Vary hold', async () => {
  const gw = await start();
  const ask = async (headers: Record<string, string>): Promise<(string | null)[]> => {
    const { headers: told } = await gw.fetch('/kept/items?id=eq.1&select=id', { headers });
    return ['x-cache', 'vary', 'content-location'].map((name) => told.get(name));
  };
  const rest = [ALWAYS, '/kept/items?id=eq.1&select=id'];
  expect(await ask({})).toEqual(['MISS', ...rest]);
  expect(await ask({ accept: '*/*' })).toEqual(['HIT', ...rest]);
  expect(await ask({ accept: 'application/json', prefer: 'return=minimal' })).toEqual(['HIT', ...rest]);
  const head = await gw.fetch('/kept/items?select=id&id=eq.1', { method: 'HEAD' });
  expect([head.headers.get('x-cache'), head.headers.get('content-length')]).toEqual(['HIT', '10']);
});

test('HEAD with a range is not served from the response to GET with that range, nor stored as one', async () => {
  const gw = await start();
  const ask = async (method: string, range?: string): Promise<(string | null)[]> => {
    const init = { method, headers: range === undefined ? {} : { range } };
    const { headers } = await gw.fetch('/kept/items?select=name&order=id', init);
    return [headers.get('x-cache'), headers.get('content-range')];
  };
  expect(await ask('GET', '1-2')).toEqual(['MISS', '1-2/*']);
  expect(await ask('HEAD', '1-2')).toEqual([null, '0-4/*']);
  expect(await ask('GET')).toEqual(['MISS', '0-4/*']);
  expect(await ask('GET', '1-2')).toEqual(['HIT', '1-2/*']);
});

const located: [request: string, location: string | null][] = [
  ['GET /api/items', '/api/items'],
  ['GET /api/items?', '/api/items'],
  ['GET /api/items?select=id&order=id&id=gt.1&id=lt.3', '/api/items?id=gt.1&id=lt.3&order=id&select=id'],
  ['HEAD /api/items?limit=1&id=eq.1', '/api/items?id=eq.1&limit=1'],
  ['GET /api/two%20words?id=in.(1,2)', '/api/two%20words?id=in.(1,2)'],
  ['GET /api/items?name=eq.a%0d%0ab&id=eq.1', '/api/items?id=eq.1&name=eq.a%0d%0ab'],
  [`GET /api/items?name=neq.${'a'.repeat(2_000)}`, `/api/items?name=neq.${'a'.repeat(2_000)}`],
  [`GET /api/items?name=neq.${'a'.repeat(2_040)}`, null],
  ['GET /short/3', '/short/3'],
  ['GET /api/rpc/paths', null],
  ['POST /api/rpc/paths', null],
  ['GET /api/none', null],
];
test.each(located)('the Content-Location of %s is %s', async (request, location) => {
  await (await start()).expect(request, { headers: { 'content-location': location } });
});

const named: [target: string, path: string][] = [
  ['/api/rpc/paths?', '/rpc/paths'],
  ['/deep/er/rest/v1/rpc/paths', '/rpc/paths'],
  ['/deep/rpc/paths', '/rpc/paths'],
  ['/any/where/seen', '/seen'],
  ['/api/seen?path=neq.a', '/seen'],
  ['/deep/er/rest/v1/seen', '/seen'],
];
test.each(named)('for %s request.path is %s and request.uri what was sent', async (target, path) => {
  const { body } = await (await start()).fetch(target);
  const row: unknown = JSON.parse(body);
  expect(row).toEqual(target.includes('seen') ? [{ path, uri: target }] : [path, target]);
});

describe('a status that the database chose', () => {
  const chosen: [status: number, line: string][] = [
    [201, '201 Created'],
    [205, '205 Reset Content'],
    [218, '218 Successful'],
    [300, '300 Multiple Choices'],
    [303, '303 See Other'],
    [399, '399 Redirection'],
    [405, '405 Not Allowed'],
    [418, "418 I'm a Teapot"],
    [499, '499 Client Error'],
    [599, '599 Server Error'],
  ];
  const lineOf = async (target: string, body: object): Promise<string> => {
    const json = JSON.stringify(body);
    const head = `Host: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${json.length}`;
    const received = await (await start()).raw(`POST ${target} HTTP/1.1\r\n${head}\r\n\r\n${json}`);
    return received.slice('HTTP/1.1 '.length, received.indexOf('\r\n'));
  };

  test.each(chosen)('%i goes out as "%s"', async (status, line) => {
    expect(await lineOf('/api/rpc/chosen', { status: String(status) })).toBe(line);
    expect(await lineOf('/api/rpc/raised_status', { status })).toBe(line);
  });

  test('has the words that were raised with it, unless they cannot be sent', async () => {
    expect(await lineOf('/api/rpc/raised', { code: 'PT418', message: 'Short' })).toBe('418 Short');
    expect(await lineOf('/api/rpc/raised', { code: 'PT418', message: 'a\r\nX-B: c' })).toBe(
      "418 I'm a Teapot",
    );
    expect(await lineOf('/api/rpc/raised', { code: 'PT404', message: '\x01' })).toBe('404 Not Found');
  });
});

describe('HEAD', () => {
  const heads: [request: string, status: number, range: string, headers?: Record<string, string>][] = [
    ['items', 200, '0-4/*'],
    ['items', 200, '0-4/*', { range: '1-2' }],
    ['items', 200, '0-4/*', { range: 'nonsense' }],
    ['items?limit=2&offset=1', 200, '1-2/*', { range: '0-0' }],
    ['items?limit=2&offset=1', 206, '1-2/5', { prefer: 'count=exact' }],
    ['items?id=gt.9', 200, '*/*'],
    ['items?id=gt.9&limit=5', 200, '*/*', { accept: 'text/csv' }],
    ['items?limit=3', 200, '0-2/*', { accept: 'text/xml' }],
    ['items?select=name::int', 200, '0-4/*'],
    ['items?id=eq.1', 200, '0-0/*', { accept: 'application/vnd.pgrst.object+json' }],
    ['items?select=count()', 200, '0-0/*'],
  ];
  test.each(heads)(
    'of %s gives %i and %s, without a length',
    async (...[request, status, range, headers]) => {
      const gw = await start();
      await gw.expect(
        `HEAD /api/${request}`,
        { status, body: '', headers: { 'content-range': range, 'content-length': null } },
        headers && { headers },
      );
    },
  );

  test('of several rows as one object is refused as GET is', async () => {
    const headers = { accept: 'application/vnd.pgrst.object+json' };
    const told = { status: 406, headers: { 'proxy-status': 'gw; error=PGRST116' } };
    const gw = await start();
    for (const method of ['GET', 'HEAD']) await gw.expect(`${method} /api/items`, told, { headers });
  });
});
