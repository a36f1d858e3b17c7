import { describe, expect, test } from 'vitest';
import type { ReceivedResponse } from '../../harness/http.ts';
import { HEADERS_ONLY, OBJECT, ROWS, SHOWN, type Headers, versionedGateway } from './versioned.ts';

const gateway = versionedGateway();

const match = (tags: string, others: Headers = {}): Headers => ({ ...others, 'if-match': tags });
const CREATE = { 'if-none-match': '*' };
const TEXT = { text: 'x' };
const DOC = { id: 2, text: 'x' };

type Write = readonly [it: string, line: string, headers: Headers, body?: unknown];

/** By the status and the code of the response. */
const writes: Readonly<Record<string, readonly Write[]>> = {
  '201': [
    ['PUT that creates only and shows its row', 'PUT /v/docs?id=eq.9', { ...SHOWN, ...CREATE }, { id: 9 }],
  ],
  '204': [
    ['PATCH of this version', 'PATCH /v/docs?id=eq.2', match('"2"'), TEXT],
    ['PATCH of one of several', 'PATCH /v/docs?id=eq.2', match('"9", "2"'), TEXT],
    ['PATCH of several rows of one version', 'PATCH /v/docs?id=gt.1', match('"2"'), TEXT],
    ['PATCH of *', 'PATCH /v/docs?id=eq.2', match('*'), TEXT],
    ['PATCH of the last rows, of this version', 'PATCH /v/docs?order=id.desc&limit=2', match('"2"'), TEXT],
    ['PATCH of a row of a view', 'PATCH /v/shown?id=eq.2', match('"2"'), TEXT],
    ['DELETE of this version', 'DELETE /v/docs?id=eq.2', match('"2"')],
    ['PUT of this version', 'PUT /v/docs?id=eq.2', match('"2"'), DOC],
    ['PUT of a row that is there, with *', 'PUT /v/docs?id=eq.2', match('*'), { id: 2 }],
    ['PUT that creates only', 'PUT /v/docs?id=eq.9', CREATE, { id: 9 }],
    ['If-Match: * where versions are not enabled', 'PATCH /no/docs?id=eq.2', match('*'), TEXT],
  ],
  '400 DBREST102': [
    ['If-Match where versions are not enabled', 'PATCH /no/docs?id=eq.2', match('"2"'), TEXT],
    ['If-Match for a table without versions', 'DELETE /v/plain?id=eq.1', match('"1"')],
    ['xmin of a view', 'PATCH /x/shown?id=eq.2', match('"1"'), TEXT],
  ],
  '400 DBREST103': [['a malformed If-Match', 'PATCH /v/docs?id=eq.2', match('2'), TEXT]],
  '400 DBREST104': [
    ['If-Match of a POST', 'POST /v/docs', match('"1"'), { id: 9 }],
    ['If-None-Match of a PATCH', 'PATCH /v/docs?id=eq.2', CREATE, TEXT],
    ['If-None-Match of a PUT with a tag', 'PUT /v/docs?id=eq.2', { 'if-none-match': '"1"' }, { id: 2 }],
  ],
  '400 PGRST115': [
    ['PUT with another key in its body', 'PUT /v/docs?id=eq.2', match('"2"'), { id: 3 }],
    ['PUT that creates only, with another key in its body', 'PUT /v/docs?id=eq.9', CREATE, { id: 2 }],
  ],
  '412 DBREST101': [
    ['PATCH of another version', 'PATCH /v/docs?id=eq.2', match('"1"'), TEXT],
    ['PATCH of a weak tag', 'PATCH /v/docs?id=eq.2', match('W/"2"'), TEXT],
    ['PATCH of rows of which one has another version', 'PATCH /v/docs', match('"2"'), TEXT],
    ['PATCH of the first rows, one of another version', 'PATCH /v/docs?order=id&limit=2', match('"2"'), TEXT],
    ['PATCH of no row and a tag', 'PATCH /v/docs?id=eq.9', match('"2"'), TEXT],
    ['PATCH of no row and *', 'PATCH /v/docs?id=eq.9', match('*'), TEXT],
    ['PATCH that shows its rows, of another version', 'PATCH /v/docs?id=eq.2', match('"1"', SHOWN), TEXT],
    ['PATCH for headers only, of another version', 'PATCH /v/docs?id=eq.2', match('"1"', HEADERS_ONLY), TEXT],
    ['PATCH of another version of a row of a view', 'PATCH /v/shown?id=eq.2', match('"3"'), TEXT],
    ['DELETE of another version', 'DELETE /v/docs?id=eq.2', match('"1"')],
    ['PUT of another version', 'PUT /v/docs?id=eq.2', match('"1"'), DOC],
    ['PUT of another version that shows its row', 'PUT /v/docs?id=eq.2', match('"1"', SHOWN), DOC],
    ['PUT of a row that is not there, with a tag', 'PUT /v/docs?id=eq.9', match('"1"'), { id: 9 }],
    ['PUT of a row that is not there, with *', 'PUT /v/docs?id=eq.9', match('*'), { id: 9 }],
    ['PUT that creates only, of a row that is there', 'PUT /v/docs?id=eq.2', CREATE, DOC],
    ['PUT that creates only, without versions', 'PUT /no/docs?id=eq.2', CREATE, DOC],
    ['PUT that creates only what is there', 'PUT /v/docs?id=eq.2', match('*', CREATE), { id: 2 }],
  ],
};

describe('writes', () => {
  const state = (): Promise<unknown> => gateway().db.query('select * from docs order by id');
  for (const [expected, some] of Object.entries(writes)) {
    for (const [it, line, headers, body] of some) {
      test(`${it}: ${expected}`, async () => {
        const before = await state();
        const response = await gateway().send(line, headers, body);
        const [, code = ''] = /"code":"(\w+)"/.exec(response.body) ?? [];
        expect(`${response.status} ${code}`.trimEnd()).toBe(expected);
        if (response.status >= 400) expect(await state()).toEqual(before);
        else expect(await state()).not.toEqual(before);
      });
    }
  }
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
