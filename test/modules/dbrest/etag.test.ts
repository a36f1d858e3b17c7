import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { ReceivedResponse } from '../../harness/http.ts';
import { type Headers, taggedGateway } from './versioned.ts';

const FIXTURE = `
  create table items (id int primary key, name text);
  insert into items select i, 'item ' || i from generate_series(1, 500) i;
  create table changing (id int primary key, name text);
  insert into changing values (1, 'one');
  create table large (id int, text text);
  insert into large select i, repeat('x', 1000) from generate_series(1, 2000) i;
  create function total() returns bigint stable language sql as $$ select count(*) from items $$;
  create function own_tag() returns text stable language plpgsql as $$ begin
    perform set_config('response.headers', '[{"ETag":"\\"mine\\""},{"Cache-Control":"max-age=9"}]', true);
    return 'text'; end $$;
  create function teapot() returns text stable language plpgsql as $$ begin
    perform set_config('response.status', '418', true); return 'text'; end $$;
  create function bytes() returns bytea stable language sql as $$ select '\\x00ff'::bytea $$;
  grant select on items, large to anon;
  grant all on changing to anon;`;

const gateway = taggedGateway({
  fixture: FIXTURE,
  locations: (served) => `
    location /api/ { ${served} }
    location /off/ { ${served} dbrest_etag off; }
    location /packed/ { ${served} gzip on; gzip_types application/json; gzip_min_length 1; }
    location /stored/ { ${served} add_header X-Cache $upstream_cache_status; dbrest_cache rows; dbrest_cache_valid 1m;
      dbrest_cache_listen off; }`,
});

const get = (path: string, headers: Headers = {}, method = 'GET'): Promise<ReceivedResponse> =>
  gateway().send(`${method} ${path}`, headers);
const tagOf = (path: string, headers: Headers = {}, method = 'GET'): Promise<string> =>
  gateway().tagOf(`${method} ${path}`, headers);

const STRONG = /^"[!#-~]+"$/;

const tagged: readonly { readonly it: string; readonly path: string; readonly headers?: Headers }[] = [
  { it: 'rows of a table', path: '/api/items?id=lt.5' },
  { it: 'rows that gw assembles', path: '/api/items?order=id' },
  { it: 'one page of rows', path: '/api/items?limit=5' },
  { it: 'no rows', path: '/api/items?id=eq.0' },
  { it: 'a counted part', path: '/api/items?limit=5', headers: { prefer: 'count=exact' } },
  {
    it: 'a single object',
    path: '/api/items?id=eq.1',
    headers: { accept: 'application/vnd.pgrst.object+json' },
  },
  { it: 'CSV', path: '/api/items?id=lt.5', headers: { accept: 'text/csv' } },
  { it: 'the value of a function', path: '/api/rpc/total' },
  { it: 'bytes of a function', path: '/api/rpc/bytes', headers: { accept: 'application/octet-stream' } },
];

for (const { it, path, headers = {} } of tagged) {
  test(`${it}: the tag is strong, stays the same, and a request that names it gets 304 without a body`, async () => {
    const first = await get(path, headers);
    const tag = first.headers.get('etag') ?? '';
    expect(tag).toMatch(STRONG);
    expect(await tagOf(path, headers)).toBe(tag);
    // Without a condition a HEAD makes no body, and so no tag.
    expect(await tagOf(path, { ...headers, 'if-match': '*' }, 'HEAD')).toBe(tag);
    const same = await get(path, { ...headers, 'if-none-match': `"other", ${tag}` });
    expect([same.status, same.body, same.headers.get('etag')]).toEqual([304, '', tag]);
    expect(same.headers.get('content-range')).toBe(first.headers.get('content-range'));
    expect((await get(path, { ...headers, 'if-none-match': '"other"' })).body).toBe(first.body);
  });
}

test('another representation has another tag', async () => {
  const seen = await Promise.all([
    tagOf('/api/items?id=eq.1'),
    tagOf('/api/items?id=eq.2'),
    tagOf('/api/items?id=eq.1&select=id'),
    tagOf('/api/items?id=eq.1', { accept: 'text/csv' }),
    tagOf('/api/items?id=eq.1', { accept: 'application/vnd.pgrst.object+json' }),
    tagOf('/api/items?id=eq.1', { prefer: 'count=exact' }),
    tagOf('/api/items', { range: '0-9' }),
    tagOf('/api/items', { range: '10-19' }),
    // The same bytes, as another part of the rows.
    tagOf('/api/items?id=lt.0', { prefer: 'count=exact' }),
    tagOf('/api/items?limit=0', { prefer: 'count=exact' }),
  ]);
  expect(seen.every((tag) => STRONG.test(tag))).toBe(true);
  expect(new Set(seen).size).toBe(seen.length);
});

test('a change of the rows changes the tag', async () => {
  const before = await tagOf('/api/changing');
  await gateway().db.query(`update changing set name = 'two'`);
  const { status } = await get('/api/changing', { 'if-none-match': before });
  expect(status).toBe(200);
  expect(await tagOf('/api/changing')).not.toBe(before);
});

const conditions: readonly {
  readonly it: string;
  readonly headers: (tag: string) => Headers;
  readonly status: number;
}[] = [
  { it: 'If-None-Match: * matches', headers: () => ({ 'if-none-match': '*' }), status: 304 },
  { it: 'If-None-Match compares weakly', headers: (tag) => ({ 'if-none-match': `W/${tag}` }), status: 304 },
  {
    it: 'If-None-Match without quotes matches nothing',
    headers: (tag) => ({ 'if-none-match': tag.slice(1, -1) }),
    status: 200,
  },
  { it: 'If-Match holds for the tag', headers: (tag) => ({ 'if-match': `"x", ${tag}` }), status: 200 },
  { it: 'If-Match: * holds', headers: () => ({ 'if-match': '*' }), status: 200 },
  { it: 'If-Match does not hold for another tag', headers: () => ({ 'if-match': '"x"' }), status: 412 },
  {
    it: 'If-Match does not hold for a weak tag',
    headers: (tag) => ({ 'if-match': `W/${tag}` }),
    status: 412,
  },
  {
    it: 'If-Match comes before If-None-Match',
    headers: (tag) => ({ 'if-match': '"x"', 'if-none-match': tag }),
    status: 412,
  },
  { it: 'If-Match without quotes is refused', headers: () => ({ 'if-match': 'x' }), status: 400 },
  { it: 'If-Match of commas alone is refused', headers: () => ({ 'if-match': ', ,' }), status: 400 },
  {
    it: 'a very long If-Match is refused',
    headers: () => ({ 'if-match': Array.from({ length: 101 }, (_, i) => `"${i}"`).join() }),
    status: 400,
  },
  {
    it: 'dates do not count',
    headers: () => ({ 'if-modified-since': 'Sun, 06 Nov 2094 08:49:37 GMT' }),
    status: 200,
  },
];

for (const { it, headers, status } of conditions) {
  test(it, async () => {
    for (const method of ['GET', 'HEAD']) {
      const response = await get('/api/items?id=eq.1', headers(await tagOf('/api/items?id=eq.1')), method);
      expect(response.status).toBe(status);
      if (status === 412 && method === 'GET') expect(response.body).toMatch(/"code":"DBREST101"/);
      if (status === 400 && method === 'GET') expect(response.body).toMatch(/"code":"DBREST103"/);
    }
  });
}

test('a function sets a tag of its own, and its headers stay on a 304', async () => {
  expect(await tagOf('/api/rpc/own_tag')).toBe('"mine"');
  const { status, body, headers } = await get('/api/rpc/own_tag', { 'if-none-match': '"mine"' });
  expect([status, body, headers.get('etag'), headers.get('cache-control')]).toEqual([
    304,
    '',
    '"mine"',
    'max-age=9',
  ]);
});

test.each([
  ['a response with another status', 'GET', '/api/rpc/teapot'],
  ['an error', 'GET', '/api/nowhere'],
  ['a call by POST', 'POST', '/api/rpc/total'],
  ['a streamed response', 'GET', '/api/large'],
  ['a location without tags', 'GET', '/off/items?id=eq.1'],
])('%s has no tag', async (_it, method, path) => {
  expect(await tagOf(path, {}, method)).toMatch(/^none/);
  expect((await get(path, { 'if-none-match': '*' }, method)).status).not.toBe(304);
});

test('a streamed response cannot match a tag', async () => {
  const { status, body } = await get('/api/large', { 'if-match': '"x"' });
  expect([status, body]).toEqual([412, expect.stringMatching(/"code":"DBREST101"/)]);
  expect((await get('/api/large', { 'if-match': '*' })).status).toBe(200);
});

test('a packed response has the tag in its weak form, which a request may name', async () => {
  const tag = await tagOf('/packed/items?id=lt.9');
  const packed = await get('/packed/items?id=lt.9', { 'accept-encoding': 'gzip' });
  expect(packed.headers.get('etag')).toBe(`W/${tag}`);
  expect(JSON.parse(gunzipSync(packed.bytes).toString())).toHaveLength(8);
  const same = await get('/packed/items?id=lt.9', { 'accept-encoding': 'gzip', 'if-none-match': `W/${tag}` });
  expect([same.status, same.body]).toEqual([304, '']);
});

test('a stored response has the tag of the one that was made, and responds to conditions', async () => {
  const path = '/stored/items?id=lt.7';
  // The request that has the response stored may have conditions of its own.
  const seen: string[] = [];
  for (const headers of [
    { 'if-none-match': '*' },
    {},
    { 'if-match': '"x"' },
    { 'if-none-match': '"x"' },
  ] as Headers[]) {
    const { status, headers: got } = await get(path, headers);
    seen.push(`${status} ${got.get('x-cache')}`);
  }
  expect(seen).toEqual(['304 MISS', '200 HIT', '412 null', '200 HIT']);
  expect(await tagOf(path)).toBe(await tagOf('/api/items?id=lt.7'));
});
