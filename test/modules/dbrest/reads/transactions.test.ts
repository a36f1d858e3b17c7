import { describe, expect, test } from 'vitest';
import { type ResponseCase, fixtureGateway, givesResponses } from '../fixture/gateway.ts';

const gateway = fixtureGateway({
  http: 'dbrest_setting colour blue; dbrest_setting app.settings.n.o "a \'b\'";',
  more: `location /timed/ { dbrest_pass $dsn; dbrest_server_timing on; }
    location /greet/ { dbrest_pass $dsn; dbrest_pre_request tools.greet; }
    location /guard/ { dbrest_pass $dsn; dbrest_pre_request tools.guard; }
    location /status/ { dbrest_pass $dsn; dbrest_pre_request tools.chooses_status; }
    location /choose/ { dbrest_pass $dsn; dbrest_tx_end commit-allow-override; }
    location /undo/ { dbrest_pass $dsn; dbrest_tx_end rollback; }
    location /short/ { dbrest_pass $dsn; dbrest_timeout 50ms; }`,
});

const fault = (
  ...[request, status, code, parts = {}]: [request: string, status: number, code: string, parts?: object]
): ResponseCase => ({
  request,
  status,
  headers: { 'proxy-status': `gw; error=${code}`, 'content-type': 'application/json; charset=utf-8' },
  ...parts,
});

test('the database gets every part of the request', async () => {
  const headers = { 'x-a': '1', cookie: 'a=1; b=x=y', 'user-agent': 'test' };
  const { body } = await gateway.ask('whoami?select=*&role=eq.anon', headers);
  expect(JSON.parse(body)).toEqual([
    {
      role: 'anon',
      jwt: '',
      claims: { role: 'anon' },
      method: 'GET',
      path: '/whoami',
      headers: {
        host: `127.0.0.1:${gateway.gw.port}`,
        connection: 'close',
        'x-a': '1',
        'user-agent': 'test',
      },
      cookies: { a: '1', b: 'x=y' },
      search_path: '"public", "tools"',
      timezone: expect.any(String) as string,
      read_only: 'on',
      colour: 'blue',
      noon: expect.any(String) as string,
    },
  ]);
});

const prefer = (
  ...[preference, request, applied, json]: [
    preference: string,
    request: string,
    applied: string | null,
    json?: unknown,
  ]
): ResponseCase => ({
  request,
  with: { prefer: preference },
  status: 200,
  ...(json !== undefined && { json }),
  headers: { 'preference-applied': applied },
});
const preferences: readonly ResponseCase[] = [
  prefer('timezone=Asia/Tokyo', 'whoami?select=timezone,noon', 'timezone=Asia/Tokyo', [
    { timezone: 'Asia/Tokyo', noon: '2024-07-01T21:00:00+09:00' },
  ]),
  prefer('handling=lenient, speed=high', 'nothing', 'handling=lenient', []),
  prefer(
    'handling=strict, timezone=UTC, count=exact',
    'nothing',
    'count=exact, handling=strict, timezone=UTC',
    [],
  ),
  prefer('handling=strict, max-affected=1', 'clients?select=id&id=lt.3&order=id', 'handling=strict', [
    { id: 1 },
    { id: 2 },
  ]),
  prefer('timeout=2', 'nothing', 'timeout=2', []),
  prefer('timeout=90, count=exact', 'nothing', 'count=exact', []),
  prefer('timeout=0', 'nothing', null, []),
  prefer('timeout=0.0', 'nothing', null, []),
  prefer('timeout=0.5', 'nothing', 'timeout=0.5', []),
  prefer('timeout=1s', 'nothing', null, []),
  prefer('timeout=2', 'rpc/has_time', 'timeout=2'),
  prefer('timeout=1', '/short/nothing', null, []),
  {
    request: '/short/nothing',
    with: { prefer: 'handling=strict, timeout=1' },
    status: 400,
    json: {
      code: 'PGRST129',
      message: 'Timeout preference exceeds the statement timeout with handling=strict',
      details: 'timeout=1 is longer than 0.05 seconds',
      hint: null,
    },
  },
  prefer('return=representation, resolution=merge-duplicates, missing=default', 'nothing', null, []),
  prefer('tx=rollback', 'nothing', null, []),
  prefer('tx=rollback', '/choose/clients?select=id&id=eq.1', 'tx=rollback', [{ id: 1 }]),
  prefer('tx=commit', '/choose/nothing', 'tx=commit', []),
  prefer('tx=commit', '/undo/clients?select=id&id=eq.1', null, [{ id: 1 }]),
  {
    request: 'nothing',
    with: { prefer: 'handling=strict, speed=high, count=some, timeout=1s' },
    status: 400,
    json: {
      code: 'PGRST122',
      message: 'Invalid preferences given with handling=strict',
      details: 'Invalid preferences: speed=high, count=some, timeout=1s',
      hint: null,
    },
  },
];
describe('preferences', () => {
  givesResponses(gateway, preferences);
});

test('preferences may come in several headers', async () => {
  const prefer = ['count=exact', 'handling=strict, timezone=UTC'];
  const { headers } = await gateway.gw.fetch('/api/nothing', { headers: { prefer } });
  expect(headers.get('preference-applied')).toBe('count=exact, handling=strict, timezone=UTC');
  expect(headers.get('content-range')).toBe('*/0');
});

const raised: readonly ResponseCase[] = [
  fault('raises_pt', 402, 'PT402', {
    json: { code: 'PT402', message: 'Payment Required, please', details: 'Quota exceeded', hint: 'Upgrade' },
  }),
  {
    request: 'raises_pgrst',
    status: 418,
    json: { code: '123', message: 'Custom', details: 'because', hint: null },
    headers: { 'x-custom': 'yes', 'retry-after': '3' },
  },
  fault('raises_plain', 400, 'P0001', {
    json: { code: 'P0001', message: 'Plain words', details: null, hint: 'a hint' },
  }),
  fault('writes', 405, '25006'),
  fault('/choose/writes', 405, '25006'),
  fault('/short/slow', 500, '57014'),
  { request: 'HEAD raises_pt', status: 402, body: '', headers: { 'proxy-status': 'gw; error=PT402' } },
];
describe('errors that the database raises', () => {
  givesResponses(gateway, raised);
});

test.each([
  ['raises_pt', 'HTTP/1.1 402 Payment Required, please'],
  ['raises_pgrst', 'HTTP/1.1 418 I am a teapot'],
  ['orders?select=addresses(id)', 'HTTP/1.1 300 Multiple Choices'],
])('the status line of %s is %s', async (request, line) => {
  const received = await gateway.gw.raw(
    `GET /api/${request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
  );
  expect(received.split('\r\n')[0]).toBe(line);
});

const hooks: readonly ResponseCase[] = [
  {
    request: '/greet/clients?select=id&id=eq.1',
    status: 200,
    json: [{ id: 1 }],
    headers: { 'x-role': 'anon', 'cache-control': 'max-age=60', 'set-cookie': 'a=1, b=2' },
  },
  {
    request: '/greet/clients?select=id&id=eq.1',
    with: { prefer: 'count=exact' },
    status: 200,
    headers: { 'x-role': 'anon', 'content-range': '0-0/1' },
  },
  { request: '/greet/nope', status: 404, headers: { 'x-role': null } },
  { request: '/guard/clients?select=id&id=eq.1', status: 200, json: [{ id: 1 }] },
  {
    request: '/guard/clients',
    with: { 'x-blocked': '1' },
    status: 429,
    json: { code: 'PT429', message: 'Slow down', details: 'Blocked by header', hint: 'Leave it out' },
  },
  { request: '/status/clients?select=id&id=eq.1', status: 299, json: [{ id: 1 }] },
  {
    request: '/timed/clients?select=id',
    status: 200,
    headers: {
      'server-timing':
        /^jwt;dur=[\d.]+, parse;dur=[\d.]+, plan;dur=[\d.]+, transaction;dur=[\d.]+, response;dur=[\d.]+$/,
    },
  },
  { request: 'clients?select=id', status: 200, headers: { 'server-timing': null } },
];
describe('functions in front of a request, and timing', () => {
  givesResponses(gateway, hooks);
});

test('HEAD of a response without a known length names none, and its connection stays usable', async () => {
  const head = 'HEAD /api/numbers HTTP/1.1\r\nHost: a\r\n\r\n';
  const connection = await gateway.gw.connect();
  connection.write(head);
  expect(await connection.until(/\r\n\r\n$/)).not.toMatch(/content-length/i);
  connection.write('GET /api/clients?select=id&id=eq.1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(await connection.closed).toMatch(/\r\n\r\nHTTP\/1.1 200 [^]*\[\{"id":1\}\]$/);
});
