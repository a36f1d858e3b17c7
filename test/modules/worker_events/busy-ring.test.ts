import { expect, test } from 'vitest';
import type { Build } from '../../../src/contract/index.ts';
import type { Exchange } from '../../../src/http/index.ts';
import type { EndpointConfig } from '../../../src/modules/worker_events/directives.ts';
import { compileInspect } from '../../../src/modules/worker_events/index.ts';
import { compilePublish } from '../../../src/modules/worker_events/publish.ts';
import { createZone, openRing } from '../../../src/zone/index.ts';

const LOCK_WORD = 4;
const config: EndpointConfig = { api: true, zone: { name: 'bus' }, channel: 'c', stream: true };
const build = { needHeader: () => undefined } as unknown as Build;

/** A request as far as these handlers look at it, and what it was answered. */
function request() {
  const answer: { status?: number; body?: string; headers: Record<string, string> } = { headers: {} };
  const x = {
    args: '',
    header: (name: string) => (name === 'content-type' ? 'application/json' : undefined),
    readBody: () => Promise.resolve(Buffer.from('{"type":"t"}')),
    setHeader: (name: string, value: string) => void (answer.headers[name] = value),
    send: (status: number, _type: string, body: string) => void Object.assign(answer, { status, body }),
  };
  return { x: x as unknown as Exchange, answer };
}

test('a ring whose lock is not to be had answers 503, and serves again when it is free', async () => {
  const buffer = createZone({ name: 'bus', kind: 'ring', capacity: 4 });
  const ring = openRing(buffer, 1);
  openRing(buffer, 2);
  const words = new Int32Array(buffer);
  const handlers = [
    compileInspect(config, ring),
    compilePublish(config, { ring, knowsHost: () => true }, build),
  ];

  words[LOCK_WORD] = 3;
  for (const handler of handlers) {
    const { x, answer } = request();
    await handler(x);
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'Retry-After': '1' },
      body: '{"module":"worker_events","status":"error","error":"the ring is busy"}',
    });
  }

  words[LOCK_WORD] = 0;
  for (const handler of handlers) {
    const { x, answer } = request();
    await handler(x);
    expect(answer.status).toBe(200);
  }
  expect(ring.range()).toEqual({ oldest: 1, newest: 1 });
});
