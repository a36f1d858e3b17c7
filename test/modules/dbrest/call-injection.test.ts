import { beforeAll, expect, test } from 'vitest';
import { callsOfFile } from './calls.ts';
import { HOSTILE, hostileFor } from './hostile.ts';

const calls = callsOfFile();

/** A table that must survive, and functions that a hostile text would call. */
const CANARY = `
  create table canary (id int primary key);
  insert into canary values (1), (2);
  create function touched() returns int language sql as 'delete from canary returning id';
  grant all on canary to anon;
`;
beforeAll(() => calls.it.db.query(CANARY));

const FORM = 'application/x-www-form-urlencoded';
type Request = readonly [target: string, init: { body?: string; headers?: Record<string, string> }];
const get = (target: string, headers: Record<string, string> = {}): Request => [target, { headers }];
const post = (target: string, body: string, type = 'application/json'): Request => [
  target,
  { body, headers: { 'content-type': type } },
];

/** Every part of a call that a client writes, with the hostile text in it. */
const PLACES: readonly [where: string, request: (raw: string, text: string) => Request][] = [
  ['name of a function', (text) => get(`/${text}`)],
  ['name of an argument', (text) => get(`/greet?${text}=x`)],
  ['name in JSON', (_, text) => post('/greet', JSON.stringify({ [text]: 'x' }))],
  ['name in a form', (text) => post('/greet', `${text}=x`, FORM)],
  ['text', (text) => get(`/greet?name=${text}`)],
  ['text in JSON', (_, text) => post('/greet', JSON.stringify({ name: text }))],
  ['text in a form', (text) => post('/greet', `name=${text}`, FORM)],
  ['number', (text) => get(`/add_them?a=${text}&b=1`)],
  ['number in JSON', (_, text) => post('/add_them', JSON.stringify({ a: text, b: 1 }))],
  ['array', (text) => get(`/echo_array?list=${text}`)],
  ['array in JSON', (_, text) => post('/echo_array', JSON.stringify({ list: [text, [text]] }))],
  ['variadic argument', (text) => get(`/join_all?separator=${text}&words=${text}&words=${text}`)],
  ['composite in JSON', (_, text) => post('/echo_types', JSON.stringify({ sums: { currency: text } }))],
  ['bare JSON', (_, text) => post('/body_json', text)],
  ['whole text', (_, text) => post('/body_text', text, 'text/plain')],
  ['whole xml', (_, text) => post('/body_xml', text, 'text/xml')],
  ['type of the body', (_, text) => post('/greet', '{}', text.replace(/[^ -~]/g, '?'))],
  ['select', (text) => get(`/points?select=%22${text}%22:x`)],
  ['filter', (text) => get(`/points?y=eq.${text}`)],
  ['column of a value', (text) => get(`/three_numbers?${text}=eq.1`)],
  ['order', (text) => get(`/points?order=%22${text}%22`)],
  ['accept', (_, text) => get('/page', { accept: text.replace(/[^ -~]/g, '?') })],
];

for (const [part, [where, request]] of PLACES.entries())
  test(`hostile text in the ${where} of a call stays data`, async () => {
    for (const text of hostileFor(part)) {
      const [target, init] = request(encodeURIComponent(text), text);
      const method = init.body === undefined ? 'GET' : 'POST';
      const { status, body } = await calls.it.gw.fetch(`/api/rpc${target}`, { method, ...init });
      expect([200, 300, 400, 404, 405, 406, 415], `${text}: ${body}`).toContain(status);
      expect(body, text).not.toMatch(/syntax error at or near|unterminated|XX000|42601/);
    }
    expect(await calls.it.db.query('select count(*)::int as n from canary')).toEqual([{ n: 2 }]);
  });

test('texts come back unchanged', async () => {
  for (const text of HOSTILE) {
    const query = encodeURIComponent(text);
    const responses = [
      await calls.it.call(`POST greet ${JSON.stringify({ name: text, greeting: '' })}`),
      await calls.it.gw.fetch('/api/rpc/greet', {
        method: 'POST',
        headers: { 'content-type': FORM },
        body: `name=${query}&greeting=`,
      }),
    ];
    for (const { body } of responses) expect(JSON.parse(body)).toBe(`, ${text}`);
  }
});

test.each([
  ['GET greet?name=a%00b'],
  ['GET greet?a%00b=1'],
  ['POST greet {"name":"a\\u0000b"}'],
  ['POST greet {"a\\u0000b":1}'],
  ['GET a%00b'],
])('NUL is refused: %s', async (line) => {
  const { status } = await calls.it.call(line);
  expect([400, 404]).toContain(status);
  expect((await calls.it.call('GET add_them?a=1&b=1')).body).toBe('2');
});
