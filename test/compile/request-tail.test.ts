import { afterEach, expect, test, vi } from 'vitest';
import { compileRequestTail } from '../../src/compile/logs.ts';
import type { Exchange } from '../../src/http/index.ts';
import { createZone, keepErrorLine, LOG_TAIL, openRing } from '../../src/zone/index.ts';

const NOW = 1_700_000_000_000;

function tail() {
  vi.useFakeTimers({ now: NOW, toFake: ['Date', 'performance'] });
  const ring = openRing(createZone(LOG_TAIL), 1);
  const lines = () => (ring.snapshot()?.entries ?? []).map(({ type, payload }) => `${type} ${payload}`);
  return { ring, lines, step: compileRequestTail(ring) };
}

afterEach(() => void vi.useRealTimers());

function request({
  host = 'a',
  requestUri = '/x',
  beganAt = performance.now(),
  status = 200,
} = {}): Exchange {
  const facts = { method: 'GET', host, requestUri };
  return { request: facts, beganAt, bodyBytesSent: 3, status } as Partial<Exchange> as Exchange;
}

test('a request shows with its method, time, bytes, host and masked target', () => {
  const { step, lines } = tail();
  step(request({ beganAt: performance.now() - 12, status: 404, requestUri: '/x?token=abc&n=1' }));
  step(request({ host: '' }));
  expect(lines()).toEqual(['404 GET 12 3 a /x?token=***&n=1', '200 GET 0 3 - /x']);
});

test('twenty requests of a second show, and the next second gives the number of the others', () => {
  const { step, lines } = tail();
  for (let n = 0; n < 50; n++) step(request({ requestUri: `/${n}` }));
  expect(lines()).toHaveLength(20);
  const early = request();
  vi.advanceTimersByTime(1_000);
  step(early);
  expect(lines().slice(20)).toEqual(['0 30', `200 GET 1000 3 a /x`]);
});

test('a line that is too long is cut between two characters', () => {
  const { step, ring, lines } = tail();
  step(request({ requestUri: `/${'é'.repeat(600)}` }));
  keepErrorLine(ring, 'warn', '€'.repeat(400));
  for (const line of lines()) {
    expect(line).toMatch(/[é€]…$/);
    expect(Buffer.byteLength(line.replace(/^\w+ /, ''))).toBeLessThanOrEqual(512);
  }
});
