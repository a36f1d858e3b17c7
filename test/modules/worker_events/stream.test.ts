import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import type { RawConnection } from '../../harness/raw.ts';
import { endpoint, inspect, publish } from './endpoint.ts';

const CONF = `server {
  ${endpoint('worker_events_ring_size 64;')}
  location /other { worker_events_api; worker_events_zone bus; worker_events_ring_size 64; worker_events_channel other; }
  location /off {
    worker_events_api; worker_events_zone bus; worker_events_ring_size 64; worker_events_channel other;
    worker_events_stream off;
  }
}`;
const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  gw = await startGateway(file, CONF, { workers: 2 });
});

/** Opens a stream and waits until it follows the ring. */
async function follow(from: Gateway, path = '/events', headers = ''): Promise<RawConnection> {
  const connection = await from.connect();
  connection.write(`GET ${path} HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n${headers}\r\n`);
  await connection.until(/\r\n\r\n[^]*: keep-alive\n\n/);
  return connection;
}

const idsOf = (connection: RawConnection) =>
  [...connection.received().matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
const newest = async () => (await inspect(gw)).newest_generation;

test('a stream sends server-sent events that no proxy buffers', async () => {
  const stream = await follow(gw);
  const head = stream.received().toLowerCase();
  expect(head).toContain('http/1.1 200 ok');
  expect(head).toContain('content-type: text/event-stream');
  expect(head).toContain('cache-control: no-cache');
  expect(head).toContain('x-accel-buffering: no');
  stream.destroy();
});

test('a stream starts with the next event and sends id, type and entry', async () => {
  await publish(gw, { type: 'before' });
  const last = await newest();
  const stream = await follow(gw);
  await publish(gw, { type: 'purged', payload: 'tag:a' });
  const text = await stream.until(/^data: (.*)\n\n/m);
  expect(idsOf(stream)).toEqual([last + 1]);
  expect(text).toMatch(/^event: purged\n/m);
  const [entry] = (await inspect(gw, `/events?since=${last}`)).events;
  expect(JSON.parse(/^data: (.*)\n\n/m.exec(text)?.[1] ?? '')).toEqual(entry);
  stream.destroy();
});

test('a stream starts after since, or after Last-Event-ID, which takes precedence', async () => {
  const last = await newest();
  for (const type of ['a', 'b', 'c']) await publish(gw, { type });
  const bySince = await follow(gw, `/events?since=${last + 1}`);
  await bySince.until(new RegExp(`id: ${last + 3}\n`));
  expect(idsOf(bySince)).toEqual([last + 2, last + 3]);
  const byId = await follow(gw, '/events?since=0', `Last-Event-ID: ${last + 2}\r\n`);
  await byId.until(new RegExp(`id: ${last + 3}\n`));
  expect(idsOf(byId)).toEqual([last + 3]);
  bySince.destroy();
  byId.destroy();
});

test('a client from before a restart gets all entries of the new ring', async () => {
  const stream = await follow(gw, '/events', 'Last-Event-ID: 1000000\r\n');
  const { events } = await inspect(gw);
  await stream.until(new RegExp(`id: ${events.at(-1)?.generation}\n`));
  expect(idsOf(stream)).toEqual(events.map((event) => event.generation));
  stream.destroy();
});

test('a stream shows its own channel, another one, or all, and filters by type', async () => {
  const streams = await Promise.all(
    ['/events', '/events?channel=other', '/events?channel=', '/events?channel=&type=x'].map((path) =>
      follow(gw, path),
    ),
  );
  const last = await newest();
  await publish(gw, { type: 'x' });
  await publish(gw, { type: 'y' }, { path: '/other' });
  await publish(gw, { type: 'x' }, { path: '/other' });
  await publish(gw, { type: 'y' });
  await publish(gw, { type: 'x' });
  await publish(gw, { type: 'x' }, { path: '/other' });
  const expected = [
    [1, 4, 5],
    [2, 3, 6],
    [1, 2, 3, 4, 5, 6],
    [1, 3, 5, 6],
  ];
  for (const [index, generations] of expected.entries()) {
    const stream = streams[index] as RawConnection;
    await stream.until(new RegExp(`id: ${last + (generations.at(-1) ?? 0)}\n`));
    expect(idsOf(stream)).toEqual(generations.map((n) => last + n));
    stream.destroy();
  }
});

test('a stream says how many entries a late reader missed', async () => {
  const last = await newest();
  for (let n = 0; n < 70; n++) await publish(gw, { type: 't' });
  const stream = await follow(gw, `/events?since=${last}`);
  const text = await stream.until(new RegExp(`id: ${last + 70}\n`));
  expect(text).toContain('event: dropped\ndata: {"dropped":6}\n\n');
  expect(idsOf(stream)).toHaveLength(64);
  stream.destroy();
});

test('an event published on any worker reaches every stream on every worker, in order and once', async () => {
  const streams = await Promise.all(Array.from({ length: 16 }, () => follow(gw)));
  const last = await newest();
  const bursts = Array.from({ length: 60 }, () => publish(gw, { type: 't' }));
  expect((await Promise.all(bursts)).map((response) => response.status)).toEqual(Array(60).fill(200));
  const expected = Array.from({ length: 60 }, (_, n) => last + 1 + n);
  for (const stream of streams) {
    await stream.until(new RegExp(`id: ${last + 60}\n`));
    expect(idsOf(stream)).toEqual(expected);
    stream.destroy();
  }
});

const refused = [
  { it: 'a malformed since', path: '/events?since=x', header: '' },
  { it: 'a malformed limit', path: '/events?limit=x', header: '' },
  { it: 'a malformed Last-Event-ID', path: '/events', header: 'x' },
];
for (const { it, path, header } of refused) {
  test(`no stream opens for ${it}`, () =>
    gw.expect(
      `GET ${path}`,
      { status: 400, headers: { 'content-type': 'application/json' } },
      { headers: { accept: 'text/event-stream', ...(header && { 'last-event-id': header }) } },
    ));
}

test('no stream opens where streams are off, or for a client that accepts anything', async () => {
  const json = { status: 200, headers: { 'content-type': 'application/json' } };
  await gw.expect('GET /off', json, { headers: { accept: 'text/event-stream' } });
  await gw.expect('GET /events', json, { headers: { accept: '*/*' } });
});

test('a stream ends when its configuration is replaced, and the next stream continues it', async (t) => {
  const own = await startGateway(t, CONF, { workers: 2 });
  await publish(own, { type: 'before' });
  const stream = await follow(own);
  expect(await own.reload(CONF)).toBe('done');
  await stream.until(/\r\n0\r\n\r\n$/);
  stream.destroy();
  await publish(own, { type: 'after' });
  const next = await follow(own, '/events', 'Last-Event-ID: 1\r\n');
  await next.until(/id: 2\n/);
  next.destroy();
});

test('a graceful stop does not wait for streams', async (t) => {
  const own = await startGateway(t, CONF, { workers: 2 });
  const stream = await follow(own);
  own.signal('SIGQUIT');
  await own.ended();
  expect(await stream.closed).toContain('\r\n0\r\n\r\n');
});
