import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, direct, sharedDirect } from './direct.ts';

const FIXTURE = `
  create table items (id int primary key, name text, ok boolean, tags text[], data jsonb, bytes bytea);
  insert into items values
    (1, 'plain', true, '{a,b}', '{"k": null, "n": 1}', '\\x00ff10'),
    (2, E'quo"te,\\nback\\\\slash', false, '{}', null, null),
    (3, '', null, null, '[null]', null),
    (4, '<&> ' || chr(1), null, null, null, null);
  create table numbers as select i as id, i % 7 as part, repeat('x', 100) as pad from generate_series(1, 5000) i;
  analyze numbers;
  create table nothing (id int, "strange name" text);
  create table "odd" ("1st & last" int, "_x0020_" int, "ünï" int);
  insert into odd values (1, 2, 3);
  create table parents (id int primary key);
  create table children (id int primary key, parent int references parents);
  insert into parents values (1);
  create function st_asgeojson(anyelement) returns text language sql immutable
    as $$ select json_build_object('type', 'Feature', 'properties', $1)::text $$;
  create type single as (n int);
  create table held (id int, one single, many single[], note text);
  insert into held values (1, row(7), array[row(7)::single], 'a b');
  create schema other;
  create table other.things (id int);
  grant usage on schema other to anon;
  grant select on all tables in schema public, other to anon;
`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

const compiled = sharedDirect();
const location = (config: Parameters<typeof compiled>[1] = {}): Promise<Direct> => compiled(db.dsn, config);

const PGRST107 = (type: string): string => `None of these media types are available: ${type}`;

const bodies: [accept: string, query: string, status: number, body: string][] = [
  ['application/json', 'items?select=id,name&id=lte.1', 200, '[{"id":1,"name":"plain"}]'],
  ['application/json', 'items?select=id&limit=2', 200, '[{"id":1}, \n {"id":2}]'],
  ['application/json', 'items?select=id&id=lt.3', 200, '[{"id":1}, \n {"id":2}]'],
  ['application/json', 'nothing', 200, '[]'],
  ['application/json', 'nothing?limit=1', 200, '[]'],
  ['application/vnd.pgrst.object+json', 'items?select=id,ok&id=eq.3', 200, '{"id":3,"ok":null}'],
  [
    'application/vnd.dbrest.object+json;nulls=stripped',
    'items?select=id,ok,data&id=eq.1',
    200,
    '{"id":1,"ok":true,"data":{"n":1}}',
  ],
  ['application/vnd.pgrst.object+json', 'items', 406, 'The result contains 4 rows'],
  ['application/vnd.pgrst.object+json', 'items?limit=2', 406, 'The result contains 2 rows'],
  ['application/vnd.pgrst.object+json', 'nothing', 406, 'The result contains 0 rows'],
  [
    'application/vnd.pgrst.array+json;nulls=stripped',
    'items?select=id,ok&id=gte.3',
    200,
    '[{"id":3}, \n {"id":4}]',
  ],
  ['application/json;nulls=stripped', 'items?select=id,ok&id=gte.3&limit=5', 200, '[{"id":3}, {"id":4}]'],
  ['application/vnd.pgrst.array+json', 'items?select=id,ok&id=eq.3', 200, '[{"id":3,"ok":null}]'],
  [
    'text/csv',
    'items?select=id,name,ok,tags',
    200,
    'id,name,ok,tags\n1,plain,t,"{a,b}"\n2,"quo""te,\nback\\slash",f,{}\n3,"",,\n4,<&> \u0001,,',
  ],
  ['text/csv', 'held', 200, 'id,one,many,note\n1,"(7)","{(7)}",a b'],
  ['text/csv', 'nothing', 200, 'id,strange name\n'],
  ['text/csv', 'items?select="a,b\\"":id&limit=1', 200, '"a,b"""\n1'],
  [
    'text/xml',
    'items?select=id,name,ok&id=in.(1,4)',
    200,
    '<?xml version="1.0" encoding="UTF-8"?><root><row><id>1</id><name>plain</name><ok>true</ok></row><row><id>4</id><name>&lt;&amp;&gt; \ufffd</name></row></root>',
  ],
  ['text/xml', 'nothing', 200, '<?xml version="1.0" encoding="UTF-8"?><root></root>'],
  [
    'text/xml',
    'odd',
    200,
    '<?xml version="1.0" encoding="UTF-8"?><root><row><_x0031_st_x0020__x0026__x0020_last>1</_x0031_st_x0020__x0026__x0020_last><_x005F_x0020_>2</_x005F_x0020_><ünï>3</ünï></row></root>',
  ],
  ['text/plain', 'items?select=name&id=eq.1', 200, 'plain'],
  ['text/plain', 'items?select=id', 200, '1\n2\n3\n4'],
  ['text/plain', 'items?select=ok', 200, 't\nf\n\n'],
  ['text/plain, application/json', 'items?select=id,ok&id=eq.1', 200, '[{"id":1,"ok":true}]'],
  ['text/plain, application/json', 'parents', 200, '1'],
  [
    'application/octet-stream, text/plain;q=0.9, text/csv;q=0.8',
    'items?select=id,ok&id=eq.1',
    200,
    'id,ok\n1,t',
  ],
  ['text/plain', 'items?select=id,name', 406, PGRST107('text/plain')],
  ['application/octet-stream', 'items?select=name&id=eq.1', 200, 'plain'],
  ['application/octet-stream', 'items?select=name', 406, PGRST107('application/octet-stream')],
  ['application/octet-stream', 'items?id=eq.1', 406, PGRST107('application/octet-stream')],
  ['application/octet-stream', 'nothing?select=id', 406, PGRST107('application/octet-stream')],
  [
    'application/geo+json',
    'items?select=id&id=eq.1',
    200,
    '{"type" : "FeatureCollection", "features" : [{"type" : "Feature", "properties" : {"id":1}}]}',
  ],
  ['image/png, text/plain;q=0.5', 'items', 406, PGRST107('image/png, text/plain')],
  ['image/png, text/html;q=0.5', 'items', 406, PGRST107('image/png, text/html')],
  ['application/vnd.pgrst.plan', 'items', 406, PGRST107('application/vnd.pgrst.plan')],
  ['text/csv', 'parents?select=id,children(id)', 406, PGRST107('text/csv')],
  ['text/csv, application/json;q=0.1', 'parents?select=id,children(id)', 200, '[{"id":1,"children":[]}]'],
];
test.each(bodies)('%s of %s', async (...[accept, query, status, body]) => {
  const response = await (await location()).get(`/api/${query}`, { accept });
  if (status === 200) expect(response).toMatchObject({ status, body });
  else {
    const { details, message } = JSON.parse(response.body) as { details: string | null; message: string };
    expect([response.status, details ?? message]).toEqual([status, body]);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  }
});

test('without PostGIS there is no GeoJSON', async () => {
  const bare = await postgres('create table t (id int); grant select on t to anon;');
  const api = await direct({ onTestFinished }, bare.dsn);
  expect(await api.get('/api/t', { accept: 'application/geo+json' })).toMatchObject({ status: 406 });
});

const counts: [
  query: string,
  headers: Record<string, string>,
  status: number,
  range: string,
  applied?: string,
][] = [
  ['items?limit=2', {}, 200, '0-1/*'],
  ['items', { prefer: 'count=exact' }, 200, '0-3/4', 'count=exact'],
  ['items?limit=2', { prefer: 'count=exact' }, 206, '0-1/4', 'count=exact'],
  ['items?limit=2&offset=2', { prefer: 'count=exact' }, 206, '2-3/4', 'count=exact'],
  ['items?id=gt.1&limit=1', { prefer: 'count=exact' }, 206, '0-0/3', 'count=exact'],
  ['items?limit=0', { prefer: 'count=exact' }, 206, '*/4', 'count=exact'],
  ['items?offset=4', { prefer: 'count=exact' }, 206, '*/4', 'count=exact'],
  [
    'items?offset=5',
    { prefer: 'count=exact' },
    416,
    'An offset of 5 was requested, but there are only 4 rows.',
  ],
  ['items?offset=5', {}, 200, '*/*'],
  ['nothing', { prefer: 'count=exact' }, 200, '*/0', 'count=exact'],
  ['items', { range: '1-2', 'range-unit': 'items' }, 200, '1-2/*'],
  ['items', { range: '1-2', prefer: 'count=exact' }, 206, '1-2/4', 'count=exact'],
  ['items?limit=2', { range: '1-', prefer: 'count=exact' }, 206, '1-1/4', 'count=exact'],
  [
    'items',
    { range: '3-2' },
    416,
    'The lower boundary must be lower than or equal to the upper boundary in the Range header.',
  ],
  ['items', { range: 'x' }, 400, 'unexpected text expecting "first-last" or "first-"'],
  ['numbers?limit=10', { prefer: 'count=planned' }, 206, '0-9/5000', 'count=planned'],
  ['numbers?limit=10', { prefer: 'count=estimated' }, 206, '0-9/5000', 'count=estimated'],
  ['numbers?id=lte.900&limit=10', { prefer: 'count=estimated' }, 206, '0-9/900', 'count=estimated'],
  ['numbers?part=eq.1&select=id', { prefer: 'count=exact' }, 200, '0-714/715', 'count=exact'],
  ['numbers?select=id', { prefer: 'count=exact' }, 200, '0-4999/5000', 'count=exact'],
  [
    'numbers?select=id&offset=10',
    { prefer: 'count=exact', accept: 'text/csv' },
    206,
    '10-4999/5000',
    'count=exact',
  ],
  [
    'items',
    { prefer: 'count=exact', accept: 'application/vnd.pgrst.object+json' },
    406,
    'The result contains 4 rows',
  ],
  ['parents?select=id,children!inner(id)', { prefer: 'count=exact' }, 200, '*/0', 'count=exact'],
];
test.each(counts)('%s with %j', async (...[query, headers, status, range, applied]) => {
  const response = await (await location()).get(`/api/${query}`, headers);
  const error = status >= 400 ? (JSON.parse(response.body) as { details: string }).details : undefined;
  expect([response.status, error ?? response.headers['content-range']]).toEqual([status, range]);
  expect(response.headers['preference-applied']).toBe(applied);
});

test('dbrest_max_rows bounds responses and decides what an estimate counts', async () => {
  const api = await location({ maxRows: { usual: 100, named: [] } });
  const { headers, status } = await api.get('/api/numbers?select=id', { prefer: 'count=estimated' });
  expect([status, headers['content-range']]).toEqual([206, '0-99/5000']);
  expect((await api.get('/api/numbers', { range: '10-500' })).headers['content-range']).toBe('10-109/*');
});

test('handling=strict refuses unknown preferences, handling=lenient ignores them', async () => {
  const api = await location();
  expect(await api.get('/api/items', { prefer: 'handling=strict, speed=high' })).toMatchObject({
    status: 400,
    headers: { 'proxy-status': 'gw; error=PGRST122' },
  });
  expect(await api.get('/api/items', { prefer: 'handling=lenient, speed=high' })).toMatchObject({
    status: 200,
    headers: { 'preference-applied': 'handling=lenient' },
  });
});

test('the response names its schema when there are several', async () => {
  const api = await location({ schemas: ['public', 'other'] });
  expect((await api.get('/api/items')).headers['content-profile']).toBe('public');
  expect(await api.get('/api/things', { 'accept-profile': 'other' })).toMatchObject({
    status: 200,
    headers: { 'content-profile': 'other' },
  });
  expect(await api.get('/api/things', { 'accept-profile': 'pg_catalog' })).toMatchObject({ status: 406 });
});

test('HEAD gives the headers of GET in every format', async () => {
  const api = await location();
  for (const accept of ['application/json', 'text/csv', 'application/octet-stream', 'text/xml']) {
    const headers = { accept, prefer: 'count=exact' };
    const query = '/api/items?select=name&id=eq.1';
    const { x, done } = api.start(`HEAD ${query}`, headers);
    await done;
    const get = await api.get(query, headers);
    // Without a body there is no tag.
    const { etag: _tag, ...shown } = get.headers;
    expect(x.sent).toMatchObject({ status: get.status, headers: shown });
  }
});
