import { beforeAll, describe, expect, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, sharedDirect } from './direct.ts';
import { THINGS } from './things.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(THINGS);
});

const compiled = sharedDirect();
const location = (config = {}): Promise<Direct> => compiled(db.dsn, config);

const ids = (body: string): number[] => (JSON.parse(body) as { id: number }[]).map(({ id }) => id);

const filters: [query: string, expected: number[]][] = [
  ['id=eq.1', [1]],
  ['id=neq.1', [2, 3]],
  ['id=gt.1', [2, 3]],
  ['id=gte.2', [2, 3]],
  ['id=lt.2', [1]],
  ['id=lte.2', [1, 2]],
  ['id=gt.1&id=lt.3', [2]],
  ['id=not.eq.1', [2, 3]],
  ['id=in.(1,3)', [1, 3]],
  ['id=not.in.(1,3)', [2]],
  ['id=in.()', []],
  ['name=in.(Ann,"Bob")', [1, 2]],
  ['name=eq.ann', []],
  ['name=like.*n*', [1]],
  ['name=like.A%25', [1]],
  ['name=ilike.a*', [1]],
  ['name=match.^[AB]', [1, 2]],
  ['name=not.match.^A', [2]],
  ['name=imatch.^a', [1]],
  ['name=is.null', [3]],
  ['name=is.not_null', [1, 2]],
  ['name=not.is.null', [1, 2]],
  ['name=isdistinct.Ann', [2, 3]],
  ['ok=is.true', [1]],
  ['ok=is.false', [2]],
  ['ok=is.unknown', [3]],
  ['ok=not.is.true', [2, 3]],
  ['ok=eq.t', [1]],
  ['price=eq.1.5', [1]],
  ['big=eq.9007199254740993', [1]],
  ['born=gte.2002-01-01', [2]],
  ['at=lt.2002-01-01T00:00:00%2B01:00', [1]],
  ['tags=cs.{b}', [1, 2]],
  ['tags=cd.{a,b,z}', [1]],
  ['tags=ov.{c}', [2]],
  ['tags=eq.{a,b}', [1]],
  ['span=sl.[5,6)', [1]],
  ['span=sr.[0,1)', [1, 2]],
  ['span=nxr.[0,5)', [1]],
  ['span=nxl.[5,9)', [2]],
  ['span=adj.[9,10)', [2]],
  ['data=cs.{"k":2}', [2]],
  ['kind=eq.sad', [1]],
  ['kind=in.(sad,ok)', [1, 2]],
  ['ref=eq.00000000-0000-0000-0000-000000000002', [2]],
  ['doc=fts.dog', [2]],
  ['doc=fts.english.cat', [1]],
  ['doc=fts(english).cat', [1]],
  ['doc=plfts.english.cat+sat', [1]],
  ['doc=phfts.english.cats+sat', [1]],
  ['doc=wfts.english.dog+or+cat', [1, 2]],
  ['name=fts.simple.ann', [1]],
  ['select=id&"select"=eq.x', [1]],
];

describe('a filter', () => {
  test.each(filters)('%s', async (query, expected) => {
    const api = await location();
    const { status, body } = await api.get(`/api/things?${query}&order=id`);
    expect([status, body.startsWith('[') ? ids(body) : body]).toEqual([200, expected]);
  });
});

const rows: [target: string, body: unknown][] = [
  [
    'things?id=eq.1&select=price,big,ok,born',
    [{ price: 1.5, big: 9007199254740992, ok: true, born: '2001-02-03' }],
  ],
  [
    'things?id=eq.1&select=tags,span,data,kind,bytes',
    [{ tags: ['a', 'b'], span: '[1,5)', data: { k: [1, null] }, kind: 'sad', bytes: '\\x00ff' }],
  ],
  ['things?id=eq.3&select=name,ok', [{ name: null, ok: null }]],
  ['things?id=eq.1&select=n:name,id::text', [{ n: 'Ann', id: '1' }]],
  ['things?id=eq.1&select="x""y\'; --":id'.replace('""', '\\"'), [{ 'x"y\'; --': 1 }]],
  ['names?select=*&limit=1&order=id', [{ id: 1, name: 'Ann' }]],
  ['names?order=id.desc&limit=1', [{ id: 2, name: 'Bob' }]],
  ['names?order=id&offset=1', [{ id: 2, name: 'Bob' }]],
  ['things?select=id&order=name.nullsfirst,id', [{ id: 3 }, { id: 1 }, { id: 2 }]],
  ['things?select=id&order=name.desc.nullslast', [{ id: 2 }, { id: 1 }, { id: 3 }]],
  ['t', [{ t: 1, r: 2 }]],
  ['t?t=eq.1&r=eq.2&order=t', [{ t: 1, r: 2 }]],
  ['%C3%9Cn%C3%AF%20%C3%A7%C3%B8d%C3%A9?first name=like.Zo*&select=列', [{ 列: 7 }]],
  [
    '%C3%9Cn%C3%AF%20%C3%A7%C3%B8d%C3%A9?"a.b,(c)"=eq.dot&select="a.b,(c)","quo\\"te",first name',
    [{ 'a.b,(c)': 'dot', 'quo"te': '"', 'first name': 'Zoë 😀' }],
  ],
];

test.each(rows)('a response of %s holds native JSON', async (target, expected) => {
  const { status, body } = await (await location()).get(`/api/${target}`);
  expect([status, JSON.parse(body)]).toEqual([200, expected]);
});

test('a response passes numbers through as the database wrote them', async () => {
  const { body } = await (await location()).get('/api/things?id=eq.1&select=big,price');
  expect(body).toBe('[{"big":9007199254740993,"price":1.50}]');
});

const ranges: [query: string, range: string][] = [
  ['', '0-2/*'],
  ['limit=2', '0-1/*'],
  ['offset=1', '1-2/*'],
  ['limit=1&offset=2', '2-2/*'],
  ['offset=3', '*/*'],
  ['limit=0', '*/*'],
];
test.each(ranges)('a response of ?%s names its range %s', async (query, range) => {
  const { status, headers } = await (await location()).get(`/api/things?${query}`);
  expect(status).toBe(200);
  expect(headers).toEqual({
    'content-range': range,
    'range-unit': 'items',
    'content-type': 'application/json; charset=utf-8',
    'content-location': `/api/things${query && '?'}${query.split('&').sort().join('&')}`,
    vary: 'Accept, Prefer, Range',
    etag: expect.stringMatching(/^"[0-9a-f]{40}"$/),
  });
});

test('a response has at most dbrest_max_rows rows', async () => {
  const api = await location({ maxRows: { usual: 2, named: [] } });
  expect((await api.get('/api/things')).headers['content-range']).toBe('0-1/*');
  expect((await api.get('/api/things?limit=1')).headers['content-range']).toBe('0-0/*');
  expect((await api.get('/api/things?limit=100')).headers['content-range']).toBe('0-1/*');
});

test('a response comes from the schema that the profile names', async () => {
  const api = await location({ schemas: ['public', 'second'] });
  expect((await api.get('/api/only_here', { 'accept-profile': 'second' })).headers).toMatchObject({
    'content-profile': 'second',
  });
  expect((await api.get('/api/names')).headers).toMatchObject({ 'content-profile': 'public' });
  expect((await api.get('/api/only_here')).status).toBe(404);
});
test('HEAD runs as GET', async () => {
  const { x, done } = (await location()).start('HEAD /api/things?limit=1');
  await done;
  expect(x.sent).toMatchObject({ status: 200, headers: { 'content-range': '0-0/*' } });
});

test('a table made after the start is found', async () => {
  const api = await location();
  await api.get('/api/things');
  await db.query('create table latecomer (id int); grant select on latecomer to anon');
  expect(await api.get('/api/latecomer')).toMatchObject({ status: 200, body: '[]' });
});
