import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { COMMENT, EventStream, Feed, prefersStream } from '../../src/event-streams.ts';
import { KeptEntries } from '../../src/modules/worker_events/kept-entries.ts';
import { framesOf } from '../../src/modules/worker_events/stream.ts';
import { createZone, openRing } from '../../src/zone/index.ts';

/** A client that reads everything until the test makes it stall. */
class Client {
  received = '';
  ended = false;
  #stalled: { promise: Promise<void>; resolve: () => void } | undefined;

  stall(): void {
    let resolve = () => {};
    const promise = new Promise<void>((done) => void (resolve = done));
    this.#stalled = { promise, resolve };
  }
  readOn(): void {
    this.#stalled?.resolve();
    this.#stalled = undefined;
  }
  write(chunk: string | Uint8Array): boolean {
    this.received += String(chunk);
    return this.#stalled === undefined;
  }
  drained(): Promise<void> {
    return this.#stalled?.promise ?? Promise.resolve();
  }
  end(): void {
    this.ended = true;
  }
  get frames(): string[] {
    return this.received.split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'));
  }
  get ids(): number[] {
    return this.frames.map((frame) => Number(/^id: (\d+)/.exec(frame)?.[1]));
  }
}

interface Start {
  readonly from?: number;
  readonly channel?: string;
  readonly type?: string;
}

function open(capacity: number, { from = 1, channel, type }: Start = {}) {
  const ring = openRing(createZone({ name: 'bus', kind: 'ring', capacity }), 1);
  const feed = new Feed(ring);
  const client = new Client();
  const source = { from, frameOf: framesOf(new KeptEntries(ring), { channel, type }) };
  const follow = () => new EventStream(feed, client, source);
  const publish = (name = 't', payload?: string) => void ring.publish({ channel: 'c', type: name, payload });
  return { ring, feed, client, source, follow, publish };
}

/** Resolves when the streams of this thread have nothing left to do. */
async function settled(): Promise<void> {
  for (let n = 0; n < 50; n++) await turn();
}

test('a stream begins with a comment, so that the client sees the head of the response', () => {
  const { client, follow } = open(4);
  follow();
  expect(client.received).toBe(COMMENT);
});

test('a stream sends the entries of the ring from its first generation on, then new ones', async () => {
  const { client, follow, publish } = open(4, { from: 2 });
  for (let n = 0; n < 3; n++) publish();
  follow();
  expect(client.ids).toEqual([2, 3]);
  publish('purged', 'tag:a');
  await settled();
  const [id, event, data = ''] = client.frames.at(-1)?.split('\n') ?? [];
  expect([id, event]).toEqual(['id: 4', 'event: purged']);
  expect(JSON.parse(data.replace('data: ', ''))).toEqual({
    generation: 4,
    channel: 'c',
    type: 'purged',
    payload: 'tag:a',
    timestamp: expect.any(Number) as number,
  });
});

const filters = [
  { it: 'a type', start: { type: 'wanted' }, ids: [2, 5] },
  { it: 'a channel', start: { channel: 'other' }, ids: [3, 5] },
  { it: 'both', start: { channel: 'other', type: 'wanted' }, ids: [5] },
];
for (const { it, start, ids } of filters) {
  test(`a stream sends only what matches ${it}`, async () => {
    const { ring, client, follow } = open(8, start);
    follow();
    ring.publish({ channel: 'c', type: 't' });
    ring.publish({ channel: 'c', type: 'wanted' });
    ring.publish({ channel: 'other', type: 't' });
    ring.publish({ channel: 'c', type: 't' });
    ring.publish({ channel: 'other', type: 'wanted' });
    await settled();
    expect(client.ids).toEqual(ids);
  });
}

test('a line end in a type stays out of the frame and is kept in the data', () => {
  const { client, follow, publish } = open(4);
  publish('a\r\ndata: forged');
  follow();
  const lines = client.frames[0]?.split('\n') ?? [];
  expect(lines.map((line) => line.split(':')[0])).toEqual(['id', 'event', 'data']);
  expect(JSON.parse(lines[2]?.slice(6) ?? '')).toMatchObject({ type: 'a\r\ndata: forged' });
});

test('a stream says how many entries it missed before it began', () => {
  const { client, follow, publish } = open(4, { from: 2 });
  for (let n = 0; n < 10; n++) publish();
  follow();
  expect(client.frames[0]).toBe('event: dropped\ndata: {"dropped":5}');
  expect(client.ids.slice(1)).toEqual([7, 8, 9, 10]);
});

test('a stream buffers nothing for a client that does not read, and says later how much it missed', async () => {
  const { client, follow, publish } = open(4);
  follow();
  client.stall();
  for (let n = 0; n < 1000; n++) {
    publish();
    if (n % 10 === 0) await turn();
  }
  const sentWhileStalled = client.ids.length;
  expect(sentWhileStalled).toBeLessThanOrEqual(4);
  client.readOn();
  await settled();
  expect(client.frames[sentWhileStalled]).toBe(
    `event: dropped\ndata: {"dropped":${996 - (client.ids[sentWhileStalled - 1] ?? 0)}}`,
  );
  expect(client.ids.slice(-4)).toEqual([997, 998, 999, 1000]);
});

test('a stream sends a long backlog in turns, whole and in order', async () => {
  const { client, follow, publish } = open(2000);
  for (let n = 0; n < 2000; n++) publish('t', 'x'.repeat(100));
  follow();
  expect(client.ids.length).toBeLessThan(2000);
  await settled();
  expect(client.ids).toEqual(Array.from({ length: 2000 }, (_, i) => i + 1));
});

test('a stream ends once and sends nothing more', async () => {
  const { client, follow, publish } = open(4);
  const stream = follow();
  stream.close();
  stream.close();
  publish();
  await settled();
  expect(client).toMatchObject({ ended: true, received: COMMENT });
});

test('every 15 seconds each stream gets a comment, unless its client does not read', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { feed, client, source, follow, publish } = open(4);
  const slow = new Client();
  const slowStream = new EventStream(feed, slow, source);
  slow.stall();
  const stream = follow();
  publish();
  await settled();
  const before = [client.received, slow.received];
  vi.advanceTimersByTime(30_000);
  expect(client.received).toBe(`${before[0]}${COMMENT}${COMMENT}`);
  expect(slow.received).toBe(before[1]);
  stream.close();
  slowStream.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const accepts = [
  { accept: undefined, stream: false },
  { accept: '*/*', stream: false },
  { accept: 'application/json', stream: false },
  { accept: 'text/event-stream', stream: true },
  { accept: 'Text/Event-Stream; charset=utf-8', stream: true },
  { accept: 'text/html, text/event-stream;q=0.5, */*;q=0.1', stream: true },
  { accept: 'text/event-stream;q=0', stream: false },
  { accept: 'application/json, text/event-stream', stream: false },
  { accept: 'application/json;q=0.9, text/event-stream', stream: true },
  { accept: 'text/event-streams', stream: false },
];
for (const { accept, stream } of accepts) {
  test(`"Accept: ${accept ?? '(none)'}" asks for ${stream ? 'a stream' : 'JSON'}`, () => {
    expect(prefersStream(accept)).toBe(stream);
  });
}
