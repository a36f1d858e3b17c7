import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { expectResponse } from '../../harness/expect-response.ts';
import { endpoint, inspect, publish } from './endpoint.ts';

const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  gw = await startGateway(
    file,
    `server {
      ${endpoint()}
      ${endpoint('client_max_body_size 100;', '/small')}
      location /ring { worker_events_api; worker_events_zone r; worker_events_channel c; worker_events_ring_size 2; }
    }`,
  );
});

const newest = async () => (await inspect(gw, '/events?channel=')).newest_generation;

const cases = [
  { it: 'a type alone', body: { type: 't' }, event: { type: 't', payload: null } },
  { it: 'an empty payload', body: { type: 't', payload: '' }, event: { type: 't', payload: '' } },
  {
    it: 'texts at their limits',
    body: { type: 'é'.repeat(32), payload: '😀'.repeat(128) },
    event: { type: 'é'.repeat(32), payload: '😀'.repeat(128) },
  },
  {
    it: 'control characters',
    body: { type: 'a"\\\n', payload: '\0\u2028</script>' },
    event: { type: 'a"\\\n', payload: '\0\u2028</script>' },
  },
  {
    it: 'under its own channel, with any channel in the body',
    body: { type: 't', payload: 'p', channel: 'other', generation: 7, __proto__x: 1 },
    event: { type: 't', payload: 'p' },
  },
  {
    it: 'a lone surrogate as the replacement character',
    body: '{"type":"t","payload":"\\ud800"}',
    event: { type: 't', payload: '\ufffd' },
  },
  {
    it: 'a body with white space around',
    body: ' \r\n{"type":"t"}\t',
    event: { type: 't', payload: null },
  },
];
for (const { it, body, event } of cases) {
  test(`POST publishes ${it}`, async () => {
    const generation = (await newest()) + 1;
    const response = await publish(gw, body);
    expectResponse(it, response, {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: `{"module":"worker_events","status":"published","zone":"bus","channel":"cache.invalidate","generation":${generation},"retention_evicted":false}`,
    });
    const { events } = await inspect(gw, `/events?since=${generation - 1}`);
    expect(events).toMatchObject([{ generation, channel: 'cache.invalidate', ...event }]);
  });
}

test('POST publishes and says when the oldest entry was dropped', async () => {
  const evicted = [];
  for (const type of ['a', 'b', 'c', 'd']) {
    const { generation, retention_evicted } = JSON.parse(
      (await publish(gw, { type }, { path: '/ring' })).body,
    ) as {
      generation: number;
      retention_evicted: boolean;
    };
    evicted.push([generation, retention_evicted]);
  }
  expect(evicted).toEqual([
    [1, false],
    [2, false],
    [3, true],
    [4, true],
  ]);
  expect(await inspect(gw, '/ring')).toMatchObject({
    oldest_generation: 3,
    newest_generation: 4,
    dropped_events: 2,
  });
});

for (const type of ['application/json; charset=utf-8', 'Application/JSON;x=y', 'application/json ;']) {
  test(`POST publishes for content type ${type}`, async () => {
    expect(await publish(gw, { type: 't' }, { headers: { 'content-type': type } })).toMatchObject({
      status: 200,
    });
  });
}

const NOT_JSON = 'body is not valid JSON';
const NOT_OBJECT = 'body must be a JSON object';
const refused = [
  { it: 'an empty body', body: '', status: 400, error: NOT_JSON },
  { it: 'broken JSON', body: '{"type":"t"', status: 400, error: NOT_JSON },
  { it: 'something after the JSON', body: '{"type":"t"}x', status: 400, error: NOT_JSON },
  { it: 'invalid UTF-8', body: Buffer.from('{"type":"\xff"}', 'latin1'), status: 400, error: NOT_JSON },
  { it: 'an array', body: '[{"type":"t"}]', status: 400, error: NOT_OBJECT },
  { it: 'a string', body: '"t"', status: 400, error: NOT_OBJECT },
  { it: 'null', body: 'null', status: 400, error: NOT_OBJECT },
  { it: 'deep nesting', body: '['.repeat(60_000), status: 400, error: NOT_JSON },
  { it: 'no type', body: {}, status: 400, error: 'type is missing' },
  {
    it: 'a type in the prototype',
    body: '{"__proto__":{"type":"t"}}',
    status: 400,
    error: 'type is missing',
  },
  { it: 'a type that is a number', body: { type: 1 }, status: 400, error: 'type must be a string' },
  { it: 'a type that is null', body: { type: null }, status: 400, error: 'type must be a string' },
  { it: 'an empty type', body: { type: '' }, status: 400, error: 'type must not be empty' },
  {
    it: 'a type of 65 bytes',
    body: { type: `${'é'.repeat(32)}x` },
    status: 400,
    error: 'type exceeds 64 bytes',
  },
  {
    it: 'a payload that is null',
    body: { type: 't', payload: null },
    status: 400,
    error: 'payload must be a string',
  },
  {
    it: 'a payload that is an object',
    body: { type: 't', payload: {} },
    status: 400,
    error: 'payload must be a string',
  },
  {
    it: 'a payload of 513 bytes',
    body: { type: 't', payload: 'p'.repeat(513) },
    status: 400,
    error: 'payload exceeds 512 bytes',
  },
];
for (const { it, body, status, error } of refused) {
  test(`POST refuses ${it}, and publishes nothing`, async () => {
    const before = await newest();
    expectResponse(it, await publish(gw, body), {
      status,
      json: { module: 'worker_events', status: 'error', error },
    });
    expect(await newest()).toBe(before);
  });
}

const types = ['text/plain', 'application/jsonx', 'application/json, text/plain', 'text/json', ''];
for (const type of types) {
  test(`POST refuses content type "${type}"`, async () => {
    expectResponse(type, await publish(gw, { type: 't' }, { headers: { 'content-type': type } }), {
      status: 415,
      json: { module: 'worker_events', status: 'error', error: 'content-type must be application/json' },
    });
  });
}

test('POST refuses a request without content type', () =>
  gw.expect('POST /events', { status: 415 }, { body: '{"type":"t"}' }));

test('POST refuses a body over 64 KiB, but not one of 64 KiB', async () => {
  const filler = (bytes: number) => `{"type":"t","x":"${'x'.repeat(bytes - 19)}"}`;
  expect(await publish(gw, filler(65_536))).toMatchObject({ status: 200 });
  expect(await publish(gw, filler(65_537))).toMatchObject({
    status: 413,
    body: '{"module":"worker_events","status":"error","error":"the body is too large"}',
  });
});

test('POST refuses a body over a smaller client_max_body_size', async () => {
  const body = { type: 't', payload: 'p'.repeat(100) };
  expect(await publish(gw, body, { path: '/small' })).toMatchObject({
    status: 413,
    body: '{"module":"worker_events","status":"error","error":"the body is too large"}',
  });
});

test('a page under a foreign name that resolves to gw cannot publish where no key is configured', async (t) => {
  const gw = await startGateway(
    t,
    `server { server_name events.example;
      ${endpoint()} ${endpoint('worker_events_publish_key k;', '/keyed')} }`,
  );
  const cases = [
    { headers: { Host: 'evil.example', Origin: 'http://evil.example' }, status: 403 },
    { headers: { Host: 'events.example', Origin: 'http://events.example' }, status: 200 },
    { headers: { Host: 'localhost', Origin: 'http://localhost' }, status: 200 },
    { headers: { Host: 'a-container' }, status: 200 },
    { path: '/keyed?key=k', headers: { Host: 'any.example', Origin: 'http://any.example' }, status: 200 },
  ];
  for (const { status, ...init } of cases) {
    const response = await publish(gw, { type: 'a' }, init);
    expect([init, response.status]).toEqual([init, status]);
  }
});
