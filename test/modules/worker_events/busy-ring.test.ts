import { expect, test } from 'vitest';
import type { Build } from '../../../src/contract/index.ts';
import type { EndpointConfig } from '../../../src/modules/worker_events/directives.ts';
import { compileInspect } from '../../../src/modules/worker_events/index.ts';
import { KeptEntries } from '../../../src/modules/worker_events/kept-entries.ts';
import { compilePublish } from '../../../src/modules/worker_events/publish.ts';
import { createZone, openRing } from '../../../src/zone/index.ts';
import { TestWire } from '../../harness/test-wire.ts';

const LOCK_WORD = 4;
const config: EndpointConfig = { api: true, zone: { name: 'bus' }, channel: 'c', stream: true };
const build = { needHeader: () => undefined } as unknown as Build;

function request(): TestWire {
  return new TestWire('POST /', { headers: { 'content-type': 'application/json' }, body: '{"type":"t"}' });
}

test('a ring whose lock is not free gives 503, and serves again once it is', async () => {
  const buffer = createZone({ name: 'bus', kind: 'ring', capacity: 5_000 });
  const ring = openRing(buffer, 1);
  openRing(buffer, 2);
  const words = new Int32Array(buffer);
  const handlers = [
    compileInspect(config, new KeptEntries(ring)),
    compilePublish(config, { ring, cluster: undefined, knowsHost: () => true }, build),
  ];

  words[LOCK_WORD] = 3;
  for (const handler of handlers) {
    const wire = request();
    await handler(wire.x);
    expect(wire.sent).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: '{"module":"worker_events","status":"error","error":"the ring is busy"}',
    });
  }

  words[LOCK_WORD] = 0;
  for (const handler of handlers) {
    const wire = request();
    await handler(wire.x);
    expect(wire.sent?.status).toBe(200);
  }
  expect(ring.range()).toEqual({ oldest: 1, newest: 1 });
});

test('a ring of usual size is read without its lock', async () => {
  const buffer = createZone({ name: 'bus', kind: 'ring', capacity: 4 });
  const ring = openRing(buffer, 1);
  for (let i = 1; i <= 6; i += 1) ring.publish({ channel: 'c', type: `t${i}` });
  new Int32Array(buffer)[LOCK_WORD] = 3;
  const wire = new TestWire('GET /');
  await compileInspect(config, new KeptEntries(ring))(wire.x);
  expect(wire.sent?.status).toBe(200);
  const { events } = JSON.parse(wire.sent?.body ?? '') as { events: { type: string }[] };
  expect(events.map(({ type }) => type)).toEqual(['t3', 't4', 't5', 't6']);
});
