import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { redis } from '../harness/redis.ts';
import { perTier } from '../harness/tier.ts';
import { clusterOf, eventsOf, joined, payloadsOf, publishAll, startNode, startPair } from './gateways.ts';
import { lossyProxy } from './lossy-proxy.ts';

/** How long bytes vanish, at least. */
const LOST_MS = perTier({ short: 0, long: 30_000 });

test('a gateway that was stopped for longer than the store keeps entries is told a gap, and goes on with what is kept', async (t) => {
  const { url, client } = await redis('--databases', '22');
  const [a, b] = await startPair(t, { backend: url, more: 'retain 100;' });
  await publishAll(a, ['first']);
  await expect.poll(() => payloadsOf(b)).toEqual(['first']);
  process.kill(b.pid, 'SIGSTOP');
  const payloads = Array.from({ length: 600 }, (_, i) => `meanwhile ${i}`);
  await publishAll(a, payloads);
  await expect.poll(async () => (await clusterOf(a)).streams[0]?.position).toBe(601);
  const kept = await client.xlen('gw:{gw:ev:bus}');
  expect(kept).toBeLessThan(400);
  process.kill(b.pid, 'SIGCONT');
  await expect.poll(async () => (await payloadsOf(b)).at(-1), { timeout: 15_000 }).toBe('meanwhile 599');
  // What a read had brought when the process was stopped it has as well.
  const had = (await payloadsOf(b)).length - 1 - kept;
  expect(await payloadsOf(b)).toEqual(['first', ...payloads.slice(0, had), ...payloads.slice(-kept)]);
  const [gap] = (await eventsOf(b)).filter(({ type }) => type === 'cluster_gap');
  expect(JSON.parse(gap?.payload ?? '')).toEqual({ stream: 'ev:bus', from: 2 + had, to: 601 - kept });
});

for (const direction of ['to the server', 'to the client'] as const) {
  test(`when bytes ${direction} vanish for a while, both have the same afterwards, once`, async (t) => {
    const { url, port } = await redis('--databases', direction === 'to the server' ? '23' : '24');
    const proxy = await lossyProxy(t, port);
    const [a, b] = await Promise.all([
      startNode(t, { id: 'a', backend: url }),
      startNode(t, { id: 'b', backend: proxy.url }),
    ]);
    await Promise.all([a, b].map(joined));
    await publishAll(b, ['before']);
    await expect.poll(() => payloadsOf(a)).toEqual(['before']);
    proxy.lose(direction);
    await publishAll(
      a,
      Array.from({ length: 20 }, (_, i) => `a ${i}`),
    );
    await publishAll(
      b,
      Array.from({ length: 20 }, (_, i) => `b ${i}`),
    );
    await expect.poll(async () => (await clusterOf(b)).state, { timeout: 15_000 }).toBe('down');
    await sleep(LOST_MS);
    proxy.lose(undefined);
    await expect.poll(async () => (await payloadsOf(b)).length, { timeout: 15_000 }).toBe(41);
    await expect.poll(async () => (await payloadsOf(a)).length).toBe(41);
    const [there, here] = [await payloadsOf(a), await payloadsOf(b)];
    expect(here.map(String).toSorted()).toEqual(there.map(String).toSorted());
    expect(new Set(here).size).toBe(41);
    expect((await clusterOf(b)).streams).toMatchObject([{ gaps: 0 }]);
  }, 120_000);
}
