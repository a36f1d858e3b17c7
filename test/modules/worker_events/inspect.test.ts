import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { endpoint, inspect, publish } from './endpoint.ts';

const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  gw = await startGateway(
    file,
    `server {
      ${endpoint('worker_events_ring_size 8;')}
      location /other {
        worker_events_api; worker_events_zone bus; worker_events_ring_size 8;
        worker_events_channel "größe & co";
      }
      location /empty { worker_events_api; worker_events_zone empty; worker_events_channel c; }
    }`,
  );
  for (let n = 1; n <= 10; n++) {
    const path = n % 3 === 0 ? '/other' : '/events';
    await publish(
      gw,
      { type: n % 2 === 0 ? 'even' : 'odd', ...(n !== 10 && { payload: `p${n}` }) },
      { path },
    );
  }
});

// In the ring of 8: 3 (other, odd), 4 even, 5 odd, 6 (other, even), 7 odd, 8 even, 9 (other, odd), 10 even.
const OTHER = 'gr%C3%B6%C3%9Fe%20%26%20co';
const cases = [
  { it: 'shows its own channel', query: '', shown: [4, 5, 7, 8, 10], channel: 'cache.invalidate' },
  {
    it: 'shows all channels for an empty channel',
    query: '?channel=',
    shown: [3, 4, 5, 6, 7, 8, 9, 10],
    channel: '',
  },
  {
    it: 'takes a channel without = as empty',
    query: '?channel',
    shown: [3, 4, 5, 6, 7, 8, 9, 10],
    channel: '',
  },
  { it: 'filters by another channel', query: `?channel=${OTHER}`, shown: [3, 6, 9], channel: 'größe & co' },
  { it: 'takes only the exact channel', query: '?channel=cache', shown: [], channel: 'cache' },
  { it: 'filters by type', query: '?type=even', shown: [4, 8, 10] },
  {
    it: 'filters by channel and type',
    query: `?channel=${OTHER}&type=odd`,
    shown: [3, 9],
    channel: 'größe & co',
  },
  { it: 'shows what is newer than since', query: '?since=7', shown: [8, 10] },
  { it: 'shows nothing beyond the newest', query: '?since=10', shown: [] },
  { it: 'takes a since of any length', query: '?since=99999999999999999999999', shown: [] },
  { it: 'shows the oldest first up to limit', query: '?limit=2', shown: [4, 5] },
  { it: 'pages forward', query: '?limit=2&since=5', shown: [7, 8] },
  { it: 'shows nothing for limit=0', query: '?limit=0', shown: [] },
  { it: 'takes a limit beyond the ring', query: '?limit=1000000', shown: [4, 5, 7, 8, 10] },
  {
    it: 'uses the last of a repeated parameter',
    query: '?since=0&limit=9&since=7&limit=1',
    shown: [8],
  },
  { it: 'decodes names', query: '?s%69nce=8', shown: [10] },
  { it: 'leaves a plus as it is', query: '?type=e+n', shown: [] },
  { it: 'ignores parameters it does not know', query: '?x=1&&y', shown: [4, 5, 7, 8, 10] },
];
for (const { it, query, shown, channel = 'cache.invalidate' } of cases) {
  test(`GET ${it}: ${query}`, async () => {
    const response = await gw.expect(`GET /events${query}`, {
      status: 200,
      headers: { 'content-type': 'application/json' },
    });
    const { events, last_publish_msec, ...facts } = JSON.parse(response.body) as Awaited<
      ReturnType<typeof inspect>
    >;
    expect(events.map((event) => event.generation)).toEqual(shown);
    expect(facts).toEqual({
      module: 'worker_events',
      zone: 'bus',
      channel,
      capacity: 8,
      oldest_generation: 3,
      newest_generation: 10,
      dropped_events: 2,
    });
    expect(Math.abs(Date.now() - last_publish_msec)).toBeLessThan(60_000);
  });
}

test('GET shows an event with all its fields, an absent payload as null', async () => {
  const { events, last_publish_msec } = await inspect(gw, '/events?channel=&since=8');
  expect(events).toEqual([
    {
      generation: 9,
      channel: 'größe & co',
      type: 'odd',
      payload: 'p9',
      timestamp: expect.any(Number) as number,
    },
    {
      generation: 10,
      channel: 'cache.invalidate',
      type: 'even',
      payload: null,
      timestamp: last_publish_msec,
    },
  ]);
});

test('GET shows the fields in the order of the contract', async () => {
  const { body } = await gw.fetch('/events?since=9');
  expect(body.replaceAll(/\d{13}/g, 'T')).toBe(
    '{"module":"worker_events","zone":"bus","channel":"cache.invalidate","capacity":8,"oldest_generation":3,' +
      '"newest_generation":10,"dropped_events":2,"last_publish_msec":T,"events":[{"generation":10,' +
      '"channel":"cache.invalidate","type":"even","payload":null,"timestamp":T}]}',
  );
});

test('GET shows zeros for an empty ring', async () => {
  await gw.expect('GET /empty', {
    status: 200,
    json: {
      module: 'worker_events',
      zone: 'empty',
      channel: 'c',
      capacity: 1024,
      oldest_generation: 0,
      newest_generation: 0,
      dropped_events: 0,
      last_publish_msec: 0,
      events: [],
    },
  });
});

const refused = [
  { query: 'since=-1', error: 'since must be a non-negative integer' },
  { query: 'since=', error: 'since must be a non-negative integer' },
  { query: 'since=1.5', error: 'since must be a non-negative integer' },
  { query: 'since=1e3', error: 'since must be a non-negative integer' },
  { query: 'since=%201', error: 'since must be a non-negative integer' },
  { query: 'limit=-0', error: 'limit must be a non-negative integer' },
  { query: 'limit=all', error: 'limit must be a non-negative integer' },
  { query: 'limit', error: 'limit must be a non-negative integer' },
];
for (const { query, error } of refused) {
  test(`GET refuses ${query}`, () =>
    gw.expect(`GET /events?${query}`, {
      status: 400,
      headers: { 'content-type': 'application/json' },
      json: { module: 'worker_events', status: 'error', error },
    }));
}

for (const escape of ['%zz', '%2', '%ff', '%c3%28']) {
  test(`GET refuses the malformed escape ${escape}`, () =>
    gw.expect(`GET /events?type=${escape}`, { status: 400 }));
}

test('HEAD has the status and headers of GET and no body', async () => {
  for (const path of ['/events', '/events?type=even&limit=1', '/events?since=x']) {
    const get = await gw.fetch(path);
    const received = await gw.raw(`HEAD ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
    const [head = '', body] = received.split('\r\n\r\n');
    expect(head).toContain(`HTTP/1.1 ${get.status} `);
    expect(head.toLowerCase()).toContain(`content-length: ${get.bytes.length}`);
    expect(head.toLowerCase()).toContain('content-type: application/json');
    expect(body).toBe('');
  }
});

for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
  test(`${method} is not allowed`, () =>
    gw.expect(`${method} /events`, {
      status: 405,
      headers: { allow: 'GET, HEAD, POST', 'content-type': 'application/json' },
      json: { module: 'worker_events', status: 'error', error: 'method not allowed' },
    }));
}
