import type { RateLimit } from '../../../src/modules/limit_req/leaky-bucket.ts';
import { createZone, openOpenRequests, openRequestRates } from '../../../src/zone/index.ts';

/** The smallest zone that nginx allows. */
export const SIZE = 32_768;

export const rateZone = (sizeBytes = SIZE, key = '$k'): SharedArrayBuffer =>
  createZone({ name: 'one', kind: 'request limit', sizeBytes, key });

export const connectionZone = (sizeBytes = SIZE, key = '$k'): SharedArrayBuffer =>
  createZone({ name: 'addr', kind: 'connection limit', sizeBytes, key });

/** Requests per second, and requests of burst and delay. */
type Numbers = readonly [ratePerSecond: number, burst?: number, delay?: number];

/** Limits on one zone, as directives define them. */
export function limitsOn(buffer: SharedArrayBuffer, threadId = 1) {
  const rates = openRequestRates(buffer, threadId);
  return (key: string, [ratePerSecond, burst = 0, delay = 0]: Numbers): RateLimit => ({
    rates,
    key,
    milliRequestsPerSecond: ratePerSecond * 1000,
    burst: burst * 1000,
    delay: delay * 1000,
  });
}

export const requestsOn = (buffer: SharedArrayBuffer, threadId = 1) => openOpenRequests(buffer, threadId);
