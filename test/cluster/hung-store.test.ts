import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Gateway } from '../harness/gateway.ts';
import { redis } from '../harness/redis.ts';
import { perTier } from '../harness/tier.ts';
import { clusterOf, joined, startNode } from './gateways.ts';
import { postedJson } from './post.ts';

const STOPS_MS = perTier({ short: [1_000], long: [1_000, 10_000, 60_000] });
const PER_SECOND = perTier({ short: 300, long: 3_000 });
/** Each of so many requests publishes an event. */
const PUBLISHES = 10;
const BUFFER_BYTES = 8 * 1024 * 1024;

interface Load {
  readonly sent: number;
  readonly published: number;
  readonly failed: number;
  /** In ms, of 99 of 100 requests. */
  readonly p99Ms: number;
}

/** Sends requests evenly to all gateways until `isOver`. */
async function load(gateways: readonly Gateway[], isOver: () => boolean): Promise<Load> {
  const begunMs = performance.now();
  const tookMs: number[] = [];
  const all: Promise<number>[] = [];
  const ask = async (nth: number): Promise<number> => {
    const gw = gateways[nth % gateways.length] as Gateway;
    const sentMs = performance.now();
    const isPublish = nth % PUBLISHES === 0;
    const { status } = await (isPublish
      ? postedJson(gw, '/events', { type: 'told', payload: `event ${nth}` })
      : gw.fetch('/ready'));
    tookMs.push(performance.now() - sentMs);
    return status;
  };
  while (!isOver()) {
    while (all.length < ((performance.now() - begunMs) * PER_SECOND) / 1000) all.push(ask(all.length));
    await sleep(2);
  }
  const statuses = await Promise.all(all);
  return {
    sent: all.length,
    published: Math.ceil(all.length / PUBLISHES),
    failed: statuses.filter((status) => status !== 200).length,
    p99Ms: tookMs.toSorted((one, other) => one - other)[Math.floor(tookMs.length * 0.99)] ?? 0,
  };
}

/** Waits until all gateways have so many events, and none of them has to send any. */
async function caughtUp(gateways: readonly Gateway[], events: number): Promise<void> {
  const told = async (): Promise<unknown> =>
    (await Promise.all(gateways.map(clusterOf))).map(({ streams, buffer_bytes: buffer }) => ({
      position: streams[0]?.position,
      buffer,
    }));
  await expect.poll(told, { interval: 20 }).toEqual(gateways.map(() => ({ position: events, buffer: 0 })));
}

const round = (ms: number): number => Math.round(ms * 10) / 10;

for (const stopMs of STOPS_MS) {
  test(`a store that hangs for ${stopMs} ms fails no request, and all have all events soon afterwards`, async (t) => {
    const store = await redis('--databases', '31');
    await store.client.flushall();
    const spec = { backend: store.url, more: `buffer ${BUFFER_BYTES};`, fresh: true };
    const gateways = await Promise.all(['a', 'b', 'c'].map((id) => startNode(t, { id, ...spec })));
    await Promise.all(gateways.map(joined));
    const calmUntilMs = performance.now() + Math.min(stopMs, 5_000);
    const calm = await load(gateways, () => performance.now() > calmUntilMs);
    let bufferBytes = 0;
    let isUp = false;
    store.signal('SIGSTOP');
    const mostBuffered = async (): Promise<number> => {
      for (const gw of gateways) bufferBytes = Math.max(bufferBytes, (await clusterOf(gw)).buffer_bytes);
      return bufferBytes;
    };
    const stopping = sleep(stopMs)
      .then(() => expect.poll(mostBuffered).toBeGreaterThan(0))
      .finally(() => {
        store.signal('SIGCONT');
        isUp = true;
      });
    const hung = await load(gateways, () => isUp);
    await stopping;
    const backMs = performance.now();
    await caughtUp(gateways, calm.published + hung.published);
    const facts = [
      `${hung.sent} requests, ${hung.published} of them events, while the store hung for ${stopMs} ms`,
      `p99 ${round(hung.p99Ms)} ms, before ${round(calm.p99Ms)} ms`,
      `${bufferBytes} bytes waited`,
      `all had all after ${round(performance.now() - backMs)} ms`,
    ];
    console.log(facts.join('; '));
    expect([calm.failed, hung.failed]).toEqual([0, 0]);
    expect(bufferBytes).toBeLessThanOrEqual(BUFFER_BYTES);
    for (const gw of gateways)
      expect((await gw.fetch('/metrics')).body).toContain(
        'gw_cluster_buffer_dropped_total{cluster="main"} 0',
      );
  }, 180_000);
}
