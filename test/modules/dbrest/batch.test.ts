import { beforeEach, describe, expect, test } from 'vitest';
import { batchesOfFile } from './batches.ts';
import { bearer, sign } from '../../harness/tokens.ts';

const batches = batchesOfFile('dbrest_max_rows 50000;');
const user = bearer(sign({ role: 'web_user' }));

beforeEach(() =>
  batches.it.db.query('truncate items, parts, notes, numbers; alter sequence parts_id_seq restart'),
);

const insert = (id: number, name = 'a') => ({ method: 'POST', path: '/items', body: { id, name } });
const ids = async (): Promise<unknown> => batches.it.db.query('select id from items order by id');

test('a batch responds to each request as if it had come alone', async () => {
  const responses = await batches.it.results(
    [
      { ...insert(1), headers: { Prefer: 'return=representation' }, path: '/items?select=id,name' },
      { ...insert(2), headers: { Prefer: 'return=headers-only' } },
      { method: 'PATCH', path: '/items?id=eq.1', body: { name: 'b' } },
      { path: '/items?select=id,name&order=id', headers: { Prefer: 'count=exact', Range: '0-0' } },
      { method: 'HEAD', path: '/items' },
      { path: '/items?select=name&id=eq.1', headers: { Accept: 'application/vnd.pgrst.object+json' } },
      { path: '/items?select=id,name&order=id', headers: { Accept: 'text/csv' } },
      { method: 'POST', path: '/rpc/add_item?select=id', body: { id: 3, name: 'c' } },
      { path: '/rpc/total' },
      { method: 'DELETE', path: '/items?id=eq.3' },
    ],
    user,
  );
  expect(responses.map(({ status, body }) => [status, body])).toEqual([
    [201, [{ id: 1, name: 'a' }]],
    [201, undefined],
    [204, undefined],
    [206, [{ id: 1, name: 'b' }]],
    [200, undefined],
    [200, { name: 'b' }],
    [200, 'id,name\n1,b\n2,a'],
    [200, { id: 3 }],
    [200, 3],
    [204, undefined],
  ]);
  expect(responses[1]?.headers).toMatchObject({ location: '/api/items?id=eq.2' });
  expect(responses[3]?.headers).toMatchObject({
    'content-range': '0-0/2',
    'content-type': 'application/json; charset=utf-8',
  });
  expect(await ids()).toEqual([{ id: 1 }, { id: 2 }]);
});

test('a batch passes numbers through digit by digit, in both directions', async () => {
  const body = `[{"method":"POST","path":"/numbers","body":{"id":1,"exact":12345678901234567890.10,"data":{"a" : 1e400}}},
      {"path":"/numbers?select=exact,data"}]`;
  const { status, body: text } = await batches.it.send(body, user);
  expect([status, text]).toEqual([200, expect.stringContaining('12345678901234567890.10') as string]);
  expect(text).toContain('{"a" : 1e400}');
});

test('a batch counts what each upsert merged', async () => {
  const upsert = (rows: unknown) => ({
    method: 'POST',
    path: '/items?select=id',
    headers: { Prefer: 'resolution=merge-duplicates,return=representation' },
    body: rows,
  });
  const both = [
    { id: 1, name: 'a' },
    { id: 2, name: 'b' },
  ];
  const responses = await batches.it.results(
    [upsert(both), upsert(both), upsert([{ id: 3, name: 'c' }])],
    user,
  );
  expect(responses.map(({ status }) => status)).toEqual([201, 200, 201]);
});

test('a batch gives each item the settings of its own request, and the headers of the batch besides', async () => {
  const context = '/context?select=role,method,path,call,prefer,cookie,zone,read_only';
  const items = [
    { path: context, headers: { Prefer: 'timezone=Africa/Cairo' } },
    { method: 'POST', path: '/rpc/leave' },
    { path: context },
  ];
  const headers = { ...user, 'x-call': '7', cookie: 'c=d', prefer: 'timezone=Asia/Tokyo' };
  const [first, , last] = await batches.it.results(items, headers);
  const own = {
    role: 'web_user',
    method: 'GET',
    path: '/context',
    call: '7',
    cookie: 'd',
    read_only: 'on',
  };
  expect(first?.body).toEqual([{ ...own, prefer: 'timezone=Africa/Cairo', zone: 'Africa/Cairo' }]);
  expect(last?.body).toMatchObject([{ ...own, prefer: null }]);
  expect(JSON.stringify(last?.body)).not.toMatch(/Cairo|Tokyo|forged/);
  const [alone] = await batches.it.results([{ path: context }], user);
  expect(alone?.body).toMatchObject([{ read_only: 'on' }]);
});

test('a batch of reads alone runs without an open transaction, and shows what functions say of their response', async () => {
  const responses = await batches.it.results([
    { method: 'POST', path: '/rpc/headed' },
    { path: '/rpc/total' },
    { method: 'POST', path: '/rpc/headed', headers: { Accept: 'text/plain' } },
  ]);
  expect(responses[0]).toMatchObject({
    status: 202,
    headers: { 'x-one': '1', 'set-cookie': ['a=1', 'b=2'] },
    body: 'x',
  });
  expect(responses[1]).toMatchObject({ status: 200, body: 0 });
  expect(responses[2]).toMatchObject({ status: 202, body: 'x' });
});

test('a batch takes what is no JSON for a text, and bytes as base64', async () => {
  const responses = await batches.it.results([
    { path: '/rpc/loose', headers: { Accept: 'application/json' } },
    { path: '/rpc/bytes', headers: { Accept: 'application/octet-stream' } },
  ]);
  expect(responses).toMatchObject([
    { status: 200, body: '1},{"status":200' },
    { status: 200, body: '/wA=', encoding: 'base64' },
  ]);
});

test('a batch takes CSV and forms as texts', async () => {
  const responses = await batches.it.results(
    [
      {
        method: 'POST',
        path: '/items',
        headers: { 'Content-Type': 'text/csv' },
        body: 'id,name\n1,a\n2,"b, c"',
      },
      {
        method: 'POST',
        path: '/items',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'id=3&name=d',
      },
      { path: '/items?select=name&order=id' },
    ],
    user,
  );
  expect(responses[2]?.body).toEqual([{ name: 'a' }, { name: 'b, c' }, { name: 'd' }]);
});

test('a batch chooses schemas by the profile headers of its items', async () => {
  const responses = await batches.it.results(
    [
      { method: 'POST', path: '/things', headers: { 'Content-Profile': 'second' }, body: { id: 1 } },
      { path: '/things', headers: { 'Accept-Profile': 'second' } },
    ],
    { ...user, 'content-profile': 'public' },
  );
  expect(responses[1]?.body).toEqual([{ id: 1 }]);
  await batches.it.db.query('truncate second.things');
});

test('a batch without items is an empty array', async () => {
  expect(await batches.it.results([])).toEqual([]);
});

const failing: [it: string, item: object, status: number, error: object][] = [
  ['a violated key', { ...insert(1), method: 'POST' }, 409, { code: '23505' }],
  ['a violated check', insert(50, 'bad'), 400, { code: '23514' }],
  ['an unknown table', { path: '/nope' }, 404, { code: 'PGRST205' }],
  ['an unknown column', { path: '/items?select=nope' }, 400, { code: '42703' }],
  ['a malformed query', { path: '/items?id=nope' }, 400, { code: 'PGRST100' }],
  ['a function that raises', { method: 'POST', path: '/rpc/refuse' }, 418, { code: 'PT418', hint: 'stout' }],
  ['a missing privilege', { method: 'DELETE', path: '/canary' }, 403, { code: '42501' }],
  [
    'another number of rows than one',
    { path: '/items?id=eq.77', headers: { Accept: 'application/vnd.pgrst.object+json' } },
    406,
    { code: 'PGRST116' },
  ],
  [
    'more changes than allowed',
    {
      method: 'PATCH',
      path: '/items',
      headers: { Prefer: 'handling=strict, max-affected=0' },
      body: { name: 'z' },
    },
    400,
    { code: 'PGRST124' },
  ],
  [
    'a PUT of another key',
    { method: 'PUT', path: '/items?id=eq.8', body: { id: 9, name: 'x' } },
    400,
    { code: 'PGRST115' },
  ],
  [
    'an offset behind the last row',
    { path: '/items', headers: { Prefer: 'count=exact', Range: '500-600' } },
    416,
    { code: 'PGRST103' },
  ],
  ['a malformed response setting', { method: 'POST', path: '/rpc/broken_head' }, 500, { code: 'PGRST112' }],
  ['a method that a function lacks', { method: 'DELETE', path: '/rpc/total' }, 405, { code: 'PGRST101' }],
  ['a read of a volatile function', { path: '/rpc/leave' }, 400, { code: 'DBREST111' }],
];

describe('a batch undoes everything after', () => {
  for (const [it, item, status, error] of failing) {
    test.each([0, 1, 2])(`${it}, at index %d`, async (at) => {
      await batches.it.db.query(`insert into items values (1, 'there')`);
      const items: object[] = [insert(10), insert(11)];
      items.splice(at, 0, item);
      const response = await batches.it.send(items, user);
      expect([response.status, JSON.parse(response.body)]).toEqual([
        status,
        expect.objectContaining({ ...error, item: at }) as object,
      ]);
      expect(await ids()).toEqual([{ id: 1 }]);
    });
  }

  test('a constraint that is checked at the commit, which belongs to no item', async () => {
    const response = await batches.it.send(
      [insert(1), { method: 'POST', path: '/parts', body: { item: 99 } }],
      user,
    );
    expect([response.status, JSON.parse(response.body)]).toEqual([
      409,
      expect.not.objectContaining({ item: expect.anything() as unknown }) as object,
    ]);
    expect(await ids()).toEqual([]);
  });
});

test('the anonymous role gets 401 for what it may not do, with the item', async () => {
  const response = await batches.it.send([{ path: '/items' }, insert(1)]);
  expect([response.status, JSON.parse(response.body)]).toEqual([
    401,
    expect.objectContaining({ code: '42501', item: 1 }) as object,
  ]);
  expect(response.headers.get('www-authenticate')).toBe('Bearer');
});

test('row security holds in every item', async () => {
  const write = (id: number) => ({ method: 'POST', path: '/notes', body: { id, text: 'x' } });
  await batches.it.results([write(1)], bearer(sign({ role: 'editor' })));
  const [, rows, gone] = await batches.it.results(
    [
      write(2),
      { path: '/notes?select=id,owner' },
      { method: 'DELETE', path: '/notes', headers: { Prefer: 'return=representation' } },
    ],
    user,
  );
  expect(rows?.body).toEqual([{ id: 2, owner: 'web_user' }]);
  expect(gone?.body).toMatchObject([{ id: 2 }]);
  expect(await batches.it.db.query('select id from notes')).toEqual([{ id: 1 }]);
});

test('responses that grow too large undo the batch', async () => {
  const response = await batches.it.send([insert(1), { path: '/large' }], user);
  expect([response.status, JSON.parse(response.body)]).toEqual([
    400,
    expect.objectContaining({ code: 'DBREST113', item: 1 }) as object,
  ]);
  expect(await ids()).toEqual([]);
  expect((await batches.it.results([{ path: '/large?limit=5000' }], user))[0]?.body).toHaveLength(5_000);
});
