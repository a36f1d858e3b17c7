import { describe, expect, test } from 'vitest';
import type { ReceivedResponse } from '../../harness/http.ts';
import { HEADERS_ONLY, OBJECT, ROWS, SHOWN, type Headers, versionedGateway } from './versioned.ts';

const gateway = versionedGateway();

const writes: readonly {
  readonly it: string;
  readonly line: string;
  readonly headers: Headers;
  readonly body?: unknown;
  readonly status: number;
  readonly code?: string;
}[] = [
  {
    it: 'PATCH of this version',
    line: 'PATCH /v/docs?id=eq.2',
    headers: { 'if-match': '"2"' },
    body: { text: 'x' },
    status: 204,
  },
  {
    it: 'PATCH of one of several',
    line: 'PATCH /v/docs?id=eq.2',
    headers: { 'if-match': '"9", "2"' },
    body: { text: 'x' },
    status: 204,
  },
  {
    it: 'PATCH of several rows of one version',
    line: 'PATCH /v/docs?id=gt.1',
    headers: { 'if-match': '"2"' },
    body: { text: 'x' },
    status: 204,
  },
  {
    it: 'PATCH of *',
    line: 'PATCH /v/docs?id=eq.2',
    headers: { 'if-match': '*' },
    body: { text: 'x' },
    status: 204,
  },
  {
    it: 'PATCH of another version',
    line: 'PATCH /v/docs?id=eq.2',
    headers: { 'if-match': '"1"' },
    body: { text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PATCH of a weak tag',
    line: 'PATCH /v/docs?id=eq.2',
    headers: { 'if-match': 'W/"2"' },
    body: { text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PATCH of rows of which one has another version',
    line: 'PATCH /v/docs',
    headers: { 'if-match': '"2"' },
    body: { text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PATCH of the first rows, one with another version',
    line: 'PATCH /v/docs?order=id&limit=2',
    headers: { 'if-match': '"2"' },
    body: { text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PATCH of the last rows, all of this version',
    line: 'PATCH /v/docs?order=id.desc&limit=2',
    headers: { 'if-match': '"2"' },
    body: { text: 'x' },
    status: 204,
  },
  {
    it: 'PATCH of no row and a tag',
    line: 'PATCH /v/docs?id=eq.9',
    headers: { 'if-match': '"2"' },
    body: { text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PATCH of no row and *',
    line: 'PATCH /v/docs?id=eq.9',
    headers: { 'if-match': '*' },
    body: { text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PATCH that shows its rows, of another version',
    line: 'PATCH /v/docs?id=eq.2',
    headers: { ...SHOWN, 'if-match': '"1"' },
    body: { text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PATCH for headers only, of another version',
    line: 'PATCH /v/docs?id=eq.2',
    headers: { ...HEADERS_ONLY, 'if-match': '"1"' },
    body: { text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PATCH of a row of a view',
    line: 'PATCH /v/shown?id=eq.2',
    headers: { 'if-match': '"2"' },
    body: { text: 'x' },
    status: 204,
  },
  {
    it: 'PATCH of another version of a row of a view',
    line: 'PATCH /v/shown?id=eq.2',
    headers: { 'if-match': '"3"' },
    body: { text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'DELETE of this version',
    line: 'DELETE /v/docs?id=eq.2',
    headers: { 'if-match': '"2"' },
    status: 204,
  },
  {
    it: 'DELETE of another version',
    line: 'DELETE /v/docs?id=eq.2',
    headers: { 'if-match': '"1"' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PUT of this version',
    line: 'PUT /v/docs?id=eq.2',
    headers: { 'if-match': '"2"' },
    body: { id: 2, text: 'x' },
    status: 204,
  },
  {
    it: 'PUT of another version',
    line: 'PUT /v/docs?id=eq.2',
    headers: { 'if-match': '"1"' },
    body: { id: 2, text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PUT of another version that shows its row',
    line: 'PUT /v/docs?id=eq.2',
    headers: { ...SHOWN, 'if-match': '"1"' },
    body: { id: 2, text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PUT of a row that is not there, with a tag',
    line: 'PUT /v/docs?id=eq.9',
    headers: { 'if-match': '"1"' },
    body: { id: 9 },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PUT of a row that is not there, with *',
    line: 'PUT /v/docs?id=eq.9',
    headers: { 'if-match': '*' },
    body: { id: 9 },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PUT of a row that is there, with *',
    line: 'PUT /v/docs?id=eq.2',
    headers: { 'if-match': '*' },
    body: { id: 2 },
    status: 204,
  },
  {
    it: 'PUT with another key in its body',
    line: 'PUT /v/docs?id=eq.2',
    headers: { 'if-match': '"2"' },
    body: { id: 3 },
    status: 400,
    code: 'PGRST115',
  },
  {
    it: 'PUT that creates only',
    line: 'PUT /v/docs?id=eq.9',
    headers: { 'if-none-match': '*' },
    body: { id: 9 },
    status: 204,
  },
  {
    it: 'PUT that creates only and shows its row',
    line: 'PUT /v/docs?id=eq.9',
    headers: { ...SHOWN, 'if-none-match': '*' },
    body: { id: 9 },
    status: 201,
  },
  {
    it: 'PUT that creates only, of a row that is there',
    line: 'PUT /v/docs?id=eq.2',
    headers: { 'if-none-match': '*' },
    body: { id: 2, text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PUT that creates only, without versions',
    line: 'PUT /no/docs?id=eq.2',
    headers: { 'if-none-match': '*' },
    body: { id: 2, text: 'x' },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'PUT that creates only, with another key in its body',
    line: 'PUT /v/docs?id=eq.9',
    headers: { 'if-none-match': '*' },
    body: { id: 2 },
    status: 400,
    code: 'PGRST115',
  },
  {
    it: 'PUT that creates only what is there',
    line: 'PUT /v/docs?id=eq.2',
    headers: { 'if-none-match': '*', 'if-match': '*' },
    body: { id: 2 },
    status: 412,
    code: 'DBREST101',
  },
  {
    it: 'a malformed If-Match',
    line: 'PATCH /v/docs?id=eq.2',
    headers: { 'if-match': '2' },
    body: { text: 'x' },
    status: 400,
    code: 'DBREST103',
  },
  {
    it: 'If-Match where versions are not enabled',
    line: 'PATCH /no/docs?id=eq.2',
    headers: { 'if-match': '"2"' },
    body: { text: 'x' },
    status: 400,
    code: 'DBREST102',
  },
  {
    it: 'If-Match: * where versions are not enabled',
    line: 'PATCH /no/docs?id=eq.2',
    headers: { 'if-match': '*' },
    body: { text: 'x' },
    status: 204,
  },
  {
    it: 'If-Match for a table without versions',
    line: 'DELETE /v/plain?id=eq.1',
    headers: { 'if-match': '"1"' },
    status: 400,
    code: 'DBREST102',
  },
  {
    it: 'xmin of a view',
    line: 'PATCH /x/shown?id=eq.2',
    headers: { 'if-match': '"1"' },
    body: { text: 'x' },
    status: 400,
    code: 'DBREST102',
  },
  {
    it: 'If-Match of a POST',
    line: 'POST /v/docs',
    headers: { 'if-match': '"1"' },
    body: { id: 9 },
    status: 400,
    code: 'DBREST104',
  },
  {
    it: 'If-None-Match of a PATCH',
    line: 'PATCH /v/docs?id=eq.2',
    headers: { 'if-none-match': '*' },
    body: { text: 'x' },
    status: 400,
    code: 'DBREST104',
  },
  {
    it: 'If-None-Match of a PUT with a tag',
    line: 'PUT /v/docs?id=eq.2',
    headers: { 'if-none-match': '"1"' },
    body: { id: 2 },
    status: 400,
    code: 'DBREST104',
  },
];

describe('writes', () => {
  const state = (): Promise<unknown> =>
    gateway()
      .db.query('select * from docs order by id')
      .then((rows) => rows);
  test.each(writes)('$it: $status', async ({ line, headers, body, status, code }) => {
    const before = await state();
    const response = await gateway().send(line, headers, body);
    expect([response.status, /"code":"(\w+)"/.exec(response.body)?.[1]]).toEqual([status, code]);
    if (status >= 400) expect(await state()).toEqual(before);
    else expect(await state()).not.toEqual(before);
  });
});

test.each([
  ['a counted version', '/v/docs?id=eq.1', 'docs'],
  ['xmin', '/x/plain?id=eq.1', 'plain'],
  ['a version that has to be encoded', '/v/stamped?id=eq.1', 'stamped'],
])('the tag of a read is what a write of the row is compared with: %s', async (_it, path, table) => {
  const tag = await gateway().tagOf(`GET ${path}`);
  expect((await gateway().send(`DELETE ${path}`, { 'if-match': `${tag.slice(0, -43)}"` })).status).toBe(412);
  expect((await gateway().send(`DELETE ${path}`, { 'if-match': tag })).status).toBe(204);
  expect(await gateway().db.query(`select from ${table} where id = 1`)).toEqual([]);
});

test.each([
  ['PATCH', '/v/docs?id=eq.1', { text: 'x' }],
  ['PATCH', '/x/plain?id=eq.1', { text: 'x' }],
  ['PUT', '/x/plain?id=eq.1', { id: 1, text: 'x' }],
  ['PUT', '/v/docs?id=eq.1', { id: 1, text: 'x' }],
  ['DELETE', '/v/docs?id=eq.1', undefined],
])('of many concurrent writers with one version exactly one wins: %s %s', async (method, path, body) => {
  for (let round = 0; round < 5; round += 1) {
    await gateway().db.query(ROWS);
    const tag = await gateway().tagOf(`GET ${path}`);
    const responses = await Promise.all(
      Array.from({ length: 24 }, () => gateway().send(`${method} ${path}`, { 'if-match': tag }, body)),
    );
    const statuses = responses.map(({ status }) => status).sort((a, b) => a - b);
    expect(statuses).toEqual([204, ...Array.from({ length: 23 }, () => 412)]);
  }
});

test('of many concurrent PUTs that create only exactly one does', async () => {
  const put = (i: number): Promise<ReceivedResponse> =>
    gateway().send('PUT /v/docs?id=eq.77', { 'if-none-match': '*' }, { id: 77, text: `w${i}` });
  const responses = await Promise.all(Array.from({ length: 24 }, (_, i) => put(i)));
  const statuses = responses.map(({ status }) => status).sort((a, b) => a - b);
  expect(statuses).toEqual([204, ...Array.from({ length: 23 }, () => 412)]);
});

test('no update is lost when clients read, change and write with the tag that they read', async () => {
  await gateway().db.query(`update plain set text = '0'`);
  const increase = async (): Promise<void> => {
    for (;;) {
      const { body, headers } = await gateway().send('GET /x/plain?id=eq.1', OBJECT);
      const { text } = JSON.parse(body) as { text: string };
      const tag = headers.get('etag') ?? '';
      const { status } = await gateway().send(
        'PATCH /x/plain?id=eq.1',
        { 'if-match': tag },
        { text: String(Number(text) + 1) },
      );
      if (status === 204) return;
      expect(status).toBe(412);
    }
  };
  await Promise.all(Array.from({ length: 12 }, increase));
  expect(await gateway().db.query('select text from plain')).toEqual([{ text: '12' }]);
});
