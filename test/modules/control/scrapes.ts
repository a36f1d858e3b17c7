import { expect, vi } from 'vitest';
import type { Gateway } from '../../harness/gateway.ts';
import { readStrictly, type Scrape } from './prometheus-text.ts';

/** The current metrics of `/metrics`. */
export async function scrape(gw: Gateway): Promise<Scrape> {
  const { status, headers, body } = await gw.fetch('/metrics');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return readStrictly(body);
}

/** Resolves when `agree` accepts the metrics: a request is counted a moment after its response, and gauges follow the heartbeat. */
export async function eventually(gw: Gateway, agree: (metrics: Scrape) => void): Promise<Scrape> {
  return vi.waitFor(
    async () => {
      const metrics = await scrape(gw);
      agree(metrics);
      return metrics;
    },
    { timeout: 10_000, interval: 20 },
  );
}

/** The sum of all series that match. */
export function sumOf(metrics: Scrape, pattern: RegExp): number {
  let sum = 0;
  for (const [series, value] of metrics) if (pattern.test(series)) sum += value;
  return sum;
}
