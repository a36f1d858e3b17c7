import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { smallDisk } from '../../../harness/small-disk.ts';
import { perTier } from '../../../harness/tier.ts';
import { sabotage, SABOTAGED } from '../../../master/saboteur.ts';
import { cached, cacheStatus, movableClock, type Origin, startOrigin } from './origin.ts';

/** Returns a body with the name of its page in every line. */
const bodyOf = (path: string, bytes: number): Buffer => Buffer.alloc(bytes, `${path}\n`);

function serveBodies(origin: Origin, bytesOf: (path: string) => number): void {
  origin.respond = (request, response) => {
    const path = request.url ?? '';
    response.setHeader('Cache-Control', 'max-age=3600').end(bodyOf(path, bytesOf(path)));
  };
}

const KILLS = perTier({ short: 3, long: 1_000 });
const PAGES = 24;
const sizeOf = (path: string): number => [50, 3_000, 70_000, 400_000][Number(path.slice(2)) % 4] as number;

test(
  `${KILLS} times killed while it stores: no wrong body, and what was there is there again`,
  async (t) => {
    const origin = await startOrigin(t);
    serveBodies(origin, sizeOf);
    const gw = await startGateway(t, cached(origin), { workers: 2 });
    let known = 0;
    let kept = 0;
    for (let round = 0; round < KILLS; round++) {
      const hits = await readAndKill(gw, (round % 7) * 30);
      const from = gw.errorLog().length;
      gw.start();
      await gw.waitForLog(/start worker processes/, from);
      for (const path of hits) {
        const { body, headers, status } = await gw.fetch(path);
        expect([status, body === bodyOf(path, sizeOf(path)).toString()]).toEqual([200, true]);
        known += 1;
        kept += headers.get('x-cache') === 'HIT' ? 1 : 0;
      }
    }
    expect(kept / known).toBeGreaterThanOrEqual(0.99);
  },
  perTier({ short: 60_000, long: 7_200_000 }),
);

/** Hits that are seen before the gateway is killed. */
const LEAST_HITS = 3;

/** Reads old and new pages while the gateway is killed. Returns those that were hits, whose files are complete. */
async function readAndKill(gw: Gateway, delayMs: number): Promise<ReadonlySet<string>> {
  const hits = new Set<string>();
  let isOver = false;
  const lane = async (): Promise<void> => {
    while (!isOver) {
      const path = `/p${Math.floor(Math.random() * PAGES)}`;
      const response = await gw.fetch(path).catch(() => undefined);
      if (response?.headers.get('x-cache') !== 'HIT') continue;
      expect(response.body).toBe(bodyOf(path, sizeOf(path)).toString());
      hits.add(path);
    }
  };
  const lanes = Promise.all(Array.from({ length: 8 }, lane));
  await expect.poll(() => hits.size, { timeout: 20_000, interval: 5 }).toBeGreaterThanOrEqual(LEAST_HITS);
  await sleep(delayMs);
  await gw.stop('SIGKILL');
  isOver = true;
  await lanes;
  return hits;
}

const DISK = perTier({
  short: { megabytes: 4, bytes: 100_000, misses: 300 },
  long: { megabytes: 64, bytes: 1_048_576, misses: 10_000 },
});

test(`${DISK.misses} responses to a disk that has room for some: every one arrives whole`, async (t) => {
  const disk = smallDisk(t, `${DISK.megabytes}m`);
  if (disk === undefined) return t.skip('this account cannot mount a file system');
  const origin = await startOrigin(t);
  serveBodies(origin, () => DISK.bytes);
  const http = cached(origin).replace('proxy_cache_path cache', `proxy_cache_path ${disk}/cache`);
  const gw = await startGateway(t, http, { workers: 2 });
  const wrong: string[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < DISK.misses) {
      const path = `/p${next++}`;
      const { status, body } = await gw.fetch(path);
      if (status !== 200 || body !== bodyOf(path, DISK.bytes).toString()) wrong.push(`${path}: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  expect(wrong).toEqual([]);
  expect(gw.errorLog()).toMatch(/\[crit\] .*No space left on device\), cache "one" stores nothing for 10s/);
  await gw.expect('GET /p1', { status: 200 });
}, 600_000);

test('below "min_free" the least recently used responses go', async (t) => {
  const disk = smallDisk(t, '4m');
  if (disk === undefined) return t.skip('this account cannot mount a file system');
  const origin = await startOrigin(t);
  serveBodies(origin, () => 100_000);
  const path = 'min_free=2m manager_files=5 manager_sleep=1ms';
  const http = cached(origin, '', path).replace('proxy_cache_path cache', `proxy_cache_path ${disk}/cache`);
  const gw = await startGateway(t, http);
  for (let n = 0; n < 30; n++) await gw.expect(`GET /p${n}`, { status: 200 });
  expect(gw.errorLog()).not.toMatch(/\[crit\]/);
  const free = (): number => {
    const { bavail, bsize } = statfsSync(disk);
    return bavail * bsize;
  };
  await expect.poll(free).toBeGreaterThanOrEqual(2 * 1_048_576);
  // Only as many files as necessary are removed.
  expect(free()).toBeLessThan(2.5 * 1_048_576);
  expect((await gw.fetch('/p29')).headers.get('x-cache')).toBe('HIT');
  expect((await gw.fetch('/p0')).headers.get('x-cache')).toBe('MISS');
});

test('when the worker that manages the directory dies, another one takes over', async (t) => {
  const origin = await startOrigin(t);
  const clock = movableClock(t);
  const gw = await startGateway(t, cached(origin, '', 'inactive=1m'), {
    ...SABOTAGED,
    ...clock.options,
    env: { ...SABOTAGED.env, ...clock.options.env },
    workers: 2,
    expectAlerts: true,
  });
  expect(await cacheStatus(gw)).toBe('MISS number 1');
  await expect.poll(() => cacheStatus(gw)).toBe('HIT number 1');
  sabotage(gw, 'throw');
  await gw.waitForLog(/worker \d was started again/);
  clock.move(90);
  await expect.poll(() => cacheStatus(gw, '/b')).toMatch(/^HIT/);
  // Unused responses have been removed, so the page is fetched again.
  await expect.poll(() => filesIn(gw)).toBe(1);
  expect(await cacheStatus(gw)).toMatch(/^MISS/);
});

function filesIn(gw: Gateway): number {
  const found = execFileSync('find', [join(gw.dir, 'cache'), '-type', 'f'], { encoding: 'utf8' });
  return found.split('\n').filter((path) => path !== '' && !path.endsWith('.part')).length;
}
