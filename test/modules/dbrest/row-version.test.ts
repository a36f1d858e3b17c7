import { expect, test } from 'vitest';
import { HEADERS_ONLY, OBJECT, SHOWN, type Headers, versionedGateway } from './versioned.ts';

const gateway = versionedGateway();

const HASH = '[0-9a-f]{40}';
const tags: readonly {
  readonly it: string;
  readonly line: string;
  readonly headers?: Headers;
  readonly body?: unknown;
  readonly tag: string;
}[] = [
  { it: 'a row by its key', line: 'GET /v/docs?id=eq.2', tag: `"2-${HASH}"` },
  { it: 'some columns of it', line: 'GET /v/docs?id=eq.2&select=text,text', tag: `"2-${HASH}"` },
  { it: 'a page of one row', line: 'GET /v/docs?id=eq.2&limit=1', tag: `"2-${HASH}"` },
  { it: 'a row with a computed column', line: 'GET /v/docs?id=eq.2&select=id,shout', tag: `"2-${HASH}"` },
  { it: 'a row with embedded ones', line: 'GET /v/docs?id=eq.1&select=*,parts(*)', tag: `"1-${HASH}"` },
  { it: 'a row with its parent', line: 'GET /v/parts?id=eq.1&select=name,...docs(text)', tag: `"${HASH}"` },
  { it: 'a single object', line: 'GET /v/docs?text=eq.two', headers: OBJECT, tag: `"2-${HASH}"` },
  { it: 'CSV of a row', line: 'GET /v/docs?id=eq.2', headers: { accept: 'text/csv' }, tag: `"2-${HASH}"` },
  { it: 'a row of a view', line: 'GET /v/shown?id=eq.2', tag: `"2-${HASH}"` },
  {
    it: 'a row with columns of its parent',
    line: 'GET /x/parts?id=eq.1&select=name,...docs(text,version)',
    tag: `"\\d+-${HASH}"`,
  },
  { it: 'a row by a key of two columns', line: 'GET /v/pairs?a=eq.1&b=eq.1', tag: `"1-${HASH}"` },
  { it: 'a row by half of its key', line: 'GET /v/pairs?a=eq.1', tag: `"${HASH}"` },
  { it: 'no row', line: 'GET /v/docs?id=eq.9', tag: `"${HASH}"` },
  { it: 'rows', line: 'GET /v/docs', tag: `"${HASH}"` },
  { it: 'a number of rows', line: 'GET /v/docs?id=eq.1&select=count()', tag: `"${HASH}"` },
  { it: 'a table without the column', line: 'GET /v/plain?id=eq.1', tag: `"${HASH}"` },
  { it: 'a row whose version is null', line: 'GET /v/stamped?id=eq.2', tag: `"${HASH}"` },
  { it: 'a row whose version is very long', line: 'GET /v/stamped?id=eq.3', tag: `"${HASH}"` },
  {
    it: 'a version that has to be encoded',
    line: 'GET /v/stamped?id=eq.1',
    tag: `"a%20%22b%22%2C%20c-d%20%C3%A9%2541-${HASH}"`,
  },
  { it: 'xmin', line: 'GET /x/plain?id=eq.1', tag: `"\\d+-${HASH}"` },
  { it: 'xmin of a view, which has none', line: 'GET /x/shown?id=eq.1', tag: `"${HASH}"` },
  { it: 'a location without hashes', line: 'GET /bare/docs?id=eq.2', tag: '"2"' },
  {
    it: 'a changed row',
    line: 'PATCH /v/docs?id=eq.2',
    headers: SHOWN,
    body: { text: 'x' },
    tag: `"3-${HASH}"`,
  },
  {
    it: 'a changed row with embedded ones',
    line: 'PATCH /v/docs?id=eq.1&select=text,shout,parts(name)',
    headers: SHOWN,
    body: { text: 'x' },
    tag: `"2-${HASH}"`,
  },
  {
    it: 'a changed row that is not shown',
    line: 'PATCH /v/docs?id=eq.2',
    headers: HEADERS_ONLY,
    body: { text: 'x' },
    tag: '"3"',
  },
  {
    it: 'a changed row by xmin',
    line: 'PATCH /x/plain?id=eq.1',
    headers: SHOWN,
    body: { text: 'x' },
    tag: `"\\d+-${HASH}"`,
  },
  {
    it: 'several changed rows',
    line: 'PATCH /v/docs',
    headers: SHOWN,
    body: { text: 'x' },
    tag: 'none: 200 .*',
  },
  {
    it: 'a change of nothing',
    line: 'PATCH /v/docs?id=eq.1',
    headers: SHOWN,
    body: {},
    tag: 'none: 200 \\[\\]',
  },
  {
    it: 'a change of nothing that is not shown',
    line: 'PATCH /v/docs?id=eq.1',
    headers: HEADERS_ONLY,
    body: {},
    tag: 'none: 204 ',
  },
  { it: 'a new row', line: 'POST /v/docs', headers: SHOWN, body: { id: 9 }, tag: `"1-${HASH}"` },
  {
    it: 'a new row that is not shown',
    line: 'POST /v/docs',
    headers: HEADERS_ONLY,
    body: { id: 9 },
    tag: '"1"',
  },
  { it: 'new rows', line: 'POST /v/docs', headers: SHOWN, body: [{ id: 8 }, { id: 9 }], tag: 'none: 201 .*' },
  {
    it: 'a replaced row',
    line: 'PUT /v/docs?id=eq.1',
    headers: SHOWN,
    body: { id: 1, text: 'x' },
    tag: `"2-${HASH}"`,
  },
  {
    it: 'a replaced row that is not shown',
    line: 'PUT /v/docs?id=eq.1',
    headers: HEADERS_ONLY,
    body: { id: 1 },
    tag: '"2"',
  },
  {
    it: 'a row put by xmin',
    line: 'PUT /x/plain?id=eq.1',
    headers: HEADERS_ONLY,
    body: { id: 1 },
    tag: '"\\d+"',
  },
  { it: 'a deleted row', line: 'DELETE /v/docs?id=eq.2', headers: SHOWN, tag: 'none: 200 .*' },
];

test.each(tags)('the tag of $it', async ({ line, headers, body, tag }) => {
  expect(await gateway().tagOf(line, headers, body)).toMatch(new RegExp(`^${tag}$`, 's'));
});

test('versions change neither the rows nor their order', async () => {
  const paths = [
    'docs?id=eq.1&select=text,id,text',
    'docs?id=eq.1&select=*,parts(*)',
    'parts?id=eq.1&select=n:name,...docs(text,version)',
    'pairs?a=eq.1&b=eq.1',
    'docs?id=eq.1&limit=1',
  ];
  for (const accept of ['application/json', 'text/csv', OBJECT.accept]) {
    for (const path of paths.filter((one) => accept !== 'text/csv' || !one.includes('parts'))) {
      const [versioned, byXmin, plain] = await Promise.all([
        gateway().send(`GET /v/${path}`, { accept }),
        gateway().send(`GET /x/${path}`, { accept }),
        gateway().send(`GET /no/${path}`, { accept }),
      ]);
      expect([versioned.status, versioned.body, byXmin.body]).toEqual([200, plain.body, plain.body]);
    }
  }
});

test('If-Match of a read compares versions', async () => {
  for (const root of ['/v', '/stored', '/stored']) {
    const got = async (match: string): Promise<number> =>
      (await gateway().send(`GET ${root}/docs?id=eq.2`, { 'if-match': match })).status;
    expect([await got('"2"'), await got('"1"'), await got('W/"2"'), await got('2')]).toEqual([
      200, 412, 412, 400,
    ]);
    expect(await gateway().tagOf(`GET ${root}/docs?id=eq.2`)).toMatch(/^"2-/);
  }
});
