import { expect, test } from 'vitest';
import { expectResponse, type Expected } from '../../../harness/expect-response.ts';
import { startGateway } from '../../../harness/gateway.ts';
import { callHttp2 } from '../../../harness/http2-client.ts';
import { fixtureGateway } from '../fixture/gateway.ts';

const gateway = fixtureGateway({
  http: 'proxy_cache_path cache keys_zone=rows:1m; add_header X-Cache $upstream_cache_status;',
  more: `
    location /cached/ { dbrest_pass $dsn; dbrest_cache rows; dbrest_cache_valid 1m; dbrest_cache_listen off; }
    location /reads/ { dbrest_pass $dsn; limit_except GET { deny all; } }
    location /queries/ { dbrest_pass $dsn; limit_except GET QUERY { deny all; } }
    location /inbox/ { dbrest_pass $dsn; limit_except POST { deny all; } }
    location /both/ { dbrest_pass $dsn; limit_except POST QUERY { deny all; } }
    location /led/ { limit_except POST { deny all; } rewrite ^/led/(.*) /api/$1; }
    location /small/ { dbrest_pass $dsn; client_max_body_size 100; }
    location /batch/ { dbrest_pass $dsn; dbrest_batch on; }`,
});

type Headers = Readonly<Record<string, string>>;
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const STANDS_FOR = { 'x-http-method-override': 'QUERY' };

interface QueryCase {
  readonly it: string;
  /** The path and the URL's own parameters. */
  readonly to: string;
  readonly content?: string | Buffer;
  readonly with?: Headers;
  readonly method?: string;
  readonly expected: Expected;
}

function testQueries(title: string, cases: readonly QueryCase[]): void {
  for (const { it, to, content, with: headers = {}, method = 'QUERY', expected } of cases) {
    test(`${title} ${it}`, async () => {
      const { gw } = gateway;
      const path = to.startsWith('/') ? to : `/api/${to}`;
      const body = content as string;
      expectResponse(it, await gw.fetch(path, { method, headers: { ...FORM, ...headers }, body }), expected);
    });
  }
}

const BOTH = { status: 200, json: [{ id: 1 }, { id: 2 }] } as const;
const LONG = Array.from({ length: 3_000 }, (_, i) => `${i * 2}`).join(',');

testQueries('a QUERY', [
  { it: 'reads rows', to: 'clients', content: 'select=id&id=lt.3&order=id', expected: BOTH },
  {
    it: 'takes parameters of its URL, too',
    to: 'clients?select=id&order=id',
    content: 'id=lt.3',
    expected: BOTH,
  },
  { it: 'may have those of its URL only', to: 'clients?select=id&order=id&id=lt.3', expected: BOTH },
  {
    it: 'without a body needs no type',
    to: 'clients?select=id&order=id&id=lt.3',
    with: { 'content-type': 'text/plain' },
    expected: BOTH,
  },
  {
    it: 'has room for a long list',
    to: 'numbers?select=count()',
    content: `id=in.(${LONG})`,
    expected: { status: 200, json: [{ count: 2_500 }] },
  },
  {
    it: 'takes encoded text',
    to: 'clients?select=id',
    content: 'name=eq.%C5%BDlu%C5%A5ou%C4%8Dk%C3%BD+%E9%A6%AC',
    expected: { status: 200, json: [{ id: 4 }] },
  },
  {
    it: 'takes text as it is',
    to: 'clients?select=id',
    content: 'name=eq.Žluťoučký 馬',
    expected: { status: 200, json: [{ id: 4 }] },
  },
  {
    it: 'embeds, and counts',
    to: 'clients',
    content: 'select=id,orders(id)&id=eq.1&orders.limit=1',
    with: { prefer: 'count=exact' },
    expected: { status: 200, headers: { 'content-range': '0-0/1', 'content-location': null } },
  },
  {
    it: 'has a range',
    to: 'clients',
    content: 'select=id&order=id',
    with: { range: '0-1', prefer: 'count=exact' },
    expected: { status: 206, json: [{ id: 1 }, { id: 2 }], headers: { 'content-range': '0-1/4' } },
  },
  {
    it: 'reads another schema',
    to: '/all/orders?select=id&limit=0',
    with: { 'accept-profile': 'archive' },
    expected: { status: 200, json: [], headers: { 'content-profile': 'archive' } },
  },
  {
    it: 'is what the database sees, in a transaction that reads only',
    to: 'whoami',
    content: 'select=method,read_only',
    expected: { status: 200, json: [{ method: 'QUERY', read_only: 'on' }] },
  },
  { it: 'calls a function', to: 'rpc/add_them', content: 'a=1&b=2', expected: { status: 200, body: '3' } },
  {
    it: 'filters what a function returns',
    to: 'rpc/points?most=5',
    content: 'x=gt.3&select=y&order=x',
    expected: { status: 200, json: [{ y: 'd' }, { y: 'e' }] },
  },
  {
    it: 'calls no function that writes',
    to: 'rpc/note_one',
    content: 'who=q',
    expected: { status: 405, headers: { allow: 'OPTIONS, POST' }, body: /"25006"/ },
  },
  {
    it: 'of another type is refused',
    to: 'clients',
    content: '{"id":1}',
    with: { 'content-type': 'application/json' },
    expected: {
      status: 415,
      headers: { 'accept-query': '"application/x-www-form-urlencoded"' },
      body: /"PGRST102".*"Content-Type not acceptable: application\/json"/,
    },
  },
  {
    it: 'that is compressed is refused',
    to: 'clients',
    content: 'id=eq.1',
    with: { 'content-encoding': 'gzip' },
    expected: { status: 415 },
  },
  {
    it: 'that is no UTF-8 is refused',
    to: 'clients',
    content: Buffer.from('name=eq.\xff', 'latin1'),
    expected: { status: 400, body: /"PGRST102"/ },
  },
  {
    it: 'with a fault is refused',
    to: 'clients',
    content: 'id=oops.1',
    expected: { status: 400, body: /"PGRST100"/ },
  },
  {
    it: 'with a parameter in both places is refused',
    to: 'clients?select=id',
    content: 'select=name',
    expected: { status: 400, body: /unexpected second \\"select\\"/ },
  },
  {
    it: 'of more than 256 KB is refused',
    to: 'clients',
    content: `name=eq.${'x'.repeat(262_144)}`,
    expected: { status: 413, body: /"PGRST102"/ },
  },
  {
    it: 'of more than client_max_body_size is refused',
    to: '/small/clients',
    content: `name=eq.${'x'.repeat(100)}`,
    expected: { status: 413, body: /"PGRST102"/ },
  },
  { it: 'of the root is refused', to: '', expected: { status: 405, headers: { allow: 'OPTIONS,GET,HEAD' } } },
  {
    it: 'is none of the methods that limit_except has by GET',
    to: '/reads/clients',
    expected: { status: 403 },
  },
  { it: 'can be named in limit_except', to: '/queries/clients?select=id&order=id&id=lt.3', expected: BOTH },
]);

testQueries('a POST', [
  {
    it: 'stands for a QUERY',
    to: 'clients?order=id',
    content: 'select=id&id=lt.3',
    method: 'POST',
    with: STANDS_FOR,
    expected: BOTH,
  },
  {
    it: 'that stands for a QUERY is one for the database',
    to: 'whoami',
    content: 'select=method,read_only',
    method: 'POST',
    with: STANDS_FOR,
    expected: { status: 200, json: [{ method: 'QUERY', read_only: 'on' }] },
  },
  {
    it: 'that stands for a QUERY calls no function that writes',
    to: 'rpc/note_one',
    content: 'who=q',
    method: 'POST',
    with: STANDS_FOR,
    expected: { status: 405, body: /"25006"/ },
  },
  {
    it: 'that stands for a QUERY is a POST for limit_except',
    to: '/queries/clients',
    method: 'POST',
    with: STANDS_FOR,
    expected: { status: 403 },
  },
  ...['inbox', 'led'].map((of) => ({
    it: `that stands for a QUERY reads nothing where limit_except has only POST (${of})`,
    to: `/${of}/clients?order=id`,
    content: 'select=id',
    method: 'POST',
    with: STANDS_FOR,
    expected: {
      status: 403,
      body: /"DBREST116".*"X-HTTP-Method-Override: QUERY is not allowed here"/,
    },
  })),
  {
    it: 'stands for a QUERY where limit_except has both',
    to: '/both/clients?select=id&order=id&id=lt.3',
    method: 'POST',
    with: STANDS_FOR,
    expected: BOTH,
  },
  ...['query', 'SEARCH', 'GET', 'PATCH', 'POST', 'DELETE', '', 'QUERY, QUERY'].map((other) => ({
    it: `with the override "${other}" is refused`,
    to: 'rpc/add_them',
    content: 'a=1&b=2',
    method: 'POST',
    with: { 'x-http-method-override': other },
    expected: { status: 400, body: /"DBREST115".*"X-HTTP-Method-Override takes QUERY only"/ },
  })),
]);

const OPTIONS: readonly (readonly [path: string, allow: RegExp, query: string | null])[] = [
  ['clients', /^OPTIONS,GET,HEAD,QUERY,/, '"application/x-www-form-urlencoded"'],
  ['rpc/add_them', /^OPTIONS,GET,HEAD,QUERY,POST$/, '"application/x-www-form-urlencoded"'],
  ['rpc/note_one', /^OPTIONS,POST$/, null],
];
test.each(OPTIONS)('OPTIONS of %s tells whether it takes a QUERY', async (path, allow, query) => {
  const { headers } = await gateway.ask(`OPTIONS ${path}`);
  expect([headers.get('allow'), headers.get('accept-query')]).toEqual([expect.stringMatching(allow), query]);
});

test('a preflight request for a QUERY is granted', async () => {
  const asked = { origin: 'https://page.example', 'access-control-request-method': 'QUERY' };
  const { status, headers } = await gateway.ask('OPTIONS clients', asked);
  expect([status, headers.get('access-control-allow-methods')]).toEqual([
    200,
    expect.stringMatching(/\bQUERY\b/),
  ]);
});

test('a QUERY that has not changed is 304', async () => {
  const { gw } = gateway;
  const ask = (more: Headers = {}) =>
    gw.fetch('/api/clients', { method: 'QUERY', headers: { ...FORM, ...more }, body: 'select=id&id=eq.1' });
  const tag = (await ask()).headers.get('etag') ?? '';
  expect((await ask({ 'if-none-match': tag })).status).toBe(304);
});

test('queries with one URL have responses of their own, and none is stored', async () => {
  const { gw } = gateway;
  const seen = [];
  for (const id of [1, 2, 1, 2]) {
    const init = { method: 'QUERY', headers: FORM, body: `select=id&id=eq.${id}` };
    const { body, headers } = await gw.fetch('/cached/clients', init);
    seen.push([body, headers.get('x-cache')]);
  }
  expect(seen).toEqual([1, 2, 1, 2].map((id) => [JSON.stringify([{ id }]), null]));
});

test('queries with one URL and one shape have values of their own', async () => {
  const { gw } = gateway;
  const seen = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const init = { method: 'QUERY', headers: FORM, body: `select=id&id=eq.${(i % 4) + 1}` };
      return JSON.parse((await gw.fetch('/api/clients', init)).body) as unknown;
    }),
  );
  expect(seen).toEqual(Array.from({ length: 40 }, (_, i) => [{ id: (i % 4) + 1 }]));
});

test('a QUERY comes over HTTP/2', async (t) => {
  const location = `location /api/ { dbrest_pass ${gateway.db.dsn}; dbrest_anon_role anon; }`;
  const gw = await startGateway(t, `http2 on; server { ${location} }`);
  const init = { method: 'QUERY', headers: FORM, body: 'select=id&id=lt.3&order=id' };
  const { status, body } = await callHttp2(gw.port, '/api/clients', init);
  expect([status, JSON.parse(body)]).toEqual([200, BOTH.json]);
});

test('an item of a batch is a QUERY, whatever the batch stands for', async () => {
  const item = (method: string) => ({
    method,
    path: '/clients?order=id',
    headers: FORM,
    body: 'select=id&id=lt.3',
  });
  const send = (method: string) =>
    gateway.gw.fetch('/batch/rpc/batch', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...STANDS_FOR },
      body: JSON.stringify([item(method)]),
    });
  const { status, body } = await send('QUERY');
  expect([status, JSON.parse(body)]).toEqual([
    200,
    [expect.objectContaining({ status: 200, body: BOTH.json })],
  ]);
  // A POST inserts, and this column is not there.
  expect((await send('POST')).body).toMatch(/"PGRST204"/);
});
