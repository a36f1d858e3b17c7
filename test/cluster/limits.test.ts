import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { type Gateway, oneGateway, type Owner } from '../harness/gateway.ts';
import { redis, type TestRedis } from '../harness/redis.ts';
import { IS_LONG, perTier } from '../harness/tier.ts';
import { clusterOf, joined, SECRET } from './gateways.ts';
import { freshNamespace } from './stores.ts';

const load = {
  a: oneGateway({ workers: 2 }),
  b: oneGateway({ workers: 2 }),
  c: oneGateway({ workers: 2 }),
};

/** Of the zone: memory and counts of a zone with a name that no other test uses are new. */
let name = '';
let names = 0;
beforeEach(() => {
  name = `zone${++names}`;
});

/** No pause of a busy machine is taken for a store that does not answer. */
const PATIENT = 'limits wait=10s;';

interface Limited {
  readonly store?: TestRedis;
  readonly namespace?: string;
  /** `rate=100r/s cluster=main` */
  readonly zone: string;
  /** `burst=20 nodelay` */
  readonly limit?: string;
  /** More directives of the location, of the `cluster` block (by default `PATIENT`), and of `http`. */
  readonly more?: string;
  readonly cluster?: string;
  readonly http?: string;
}

/** One of the gateways; requests within the limit get a 200 with `$limit_req_status`. */
function limitedConf(id: string, url: string, spec: Limited & { readonly namespace: string }): string {
  const { namespace, zone, limit = '', more = '', cluster = PATIENT, http = '' } = spec;
  return `
  cluster main {
    backend ${url}; node_id ${id}; secret "${SECRET}"; namespace ${namespace}; heartbeat 200ms; ${cluster}
  }
  limit_req_zone $arg_k zone=${name}:1m ${zone}; ${http} error_page 404 = @in;
  server {
    location @in { return 200 "$limit_req_status"; }
    location / { limit_req zone=${name} ${limit}; ${more} }
    location = /cluster { control_api cluster; }
    location = /metrics { control_api metrics; }
  }`;
}

/** Two gateways of two workers that have heard of each other. */
async function startLimited(t: Owner, spec: Limited): Promise<readonly [Gateway, Gateway]> {
  const { url } = spec.store ?? (await redis());
  const { namespace = freshNamespace() } = spec;
  const ids = ['a', 'b'] as const;
  const both = await Promise.all(ids.map((id) => load[id](t, limitedConf(id, url, { ...spec, namespace }))));
  return joinedAll(both) as Promise<[Gateway, Gateway]>;
}

/** Three of them. */
async function startThree(t: Owner, spec: Limited): Promise<readonly Gateway[]> {
  const { url } = await redis();
  const all = { ...spec, namespace: freshNamespace() };
  const ids = ['a', 'b', 'c'] as const;
  return joinedAll(await Promise.all(ids.map((id) => load[id](t, limitedConf(id, url, all)))));
}

async function joinedAll(gateways: readonly Gateway[]): Promise<readonly Gateway[]> {
  await Promise.all(gateways.map(joined));
  for (const gw of gateways)
    await expect
      .poll(async () => (await clusterOf(gw)).members_total)
      .toBeGreaterThanOrEqual(gateways.length);
  return gateways;
}

const statusOf = async (gw: Gateway, key = 'k'): Promise<number> =>
  (await gw.fetch(`/?k=${encodeURIComponent(key)}`)).status;

/** The number of requests that were let through, of `count` ones at once to each gateway. */
async function admittedAtOnce(gateways: readonly Gateway[], count: number): Promise<number> {
  const all = Array.from({ length: count }, () => gateways.map((gw) => statusOf(gw))).flat();
  return (await Promise.all(all)).filter((status) => status === 200).length;
}

async function metricOf(gw: Gateway, metric: string): Promise<number> {
  const { body } = await gw.fetch('/metrics');
  return Number(new RegExp(`^${metric}\\{zone="${name}"\\} (\\S+)$`, 'm').exec(body)?.[1]);
}

const pairsOf = (gateways: readonly Gateway[], rates: readonly number[]) =>
  gateways.map((gw, nth) => [gw, rates[nth] ?? 0] as const);

interface Counted {
  readonly admitted: number;
  readonly sent: number;
  /** From before the first request to after the last response. */
  readonly seconds: number;
}

/** Sends requests evenly to each gateway, so many a second. */
async function loadOf(
  perSecond: readonly (readonly [gw: Gateway, rate: number])[],
  seconds: number,
): Promise<Counted> {
  const begunMs = performance.now();
  const passed = (): number => (performance.now() - begunMs) / 1000;
  const statuses: Promise<number>[] = [];
  const sent = perSecond.map(() => 0);
  while (passed() < seconds) {
    for (const [nth, [gw, rate]] of perSecond.entries())
      for (; (sent[nth] as number) < passed() * rate; sent[nth] = (sent[nth] as number) + 1)
        statuses.push(statusOf(gw));
    await sleep(5);
  }
  const admitted = (await Promise.all(statuses)).filter((status) => status === 200).length;
  return { admitted, sent: statuses.length, seconds: passed() };
}

const SECONDS = perTier({ short: 3, long: 20 });
const [RATE, BURST] = [100, 50];
const THREE = { zone: `rate=${RATE}r/s cluster=main`, limit: `burst=${BURST} nodelay` };

for (const rates of [
  [100, 100, 100],
  [294, 3, 3],
]) {
  const each = rates.join(', ');
  test(`a limit of ${RATE}r/s holds over three gateways with ${each} requests a second`, async (t) => {
    const gateways = await startThree(t, THREE);
    const { admitted, seconds } = await loadOf(pairsOf(gateways, rates), SECONDS);
    const most = RATE * seconds + BURST;
    // The first request of a key is not counted (nginx). The time is longer than that of the store: from one response to another.
    expect(admitted).toBeLessThanOrEqual(most + 1);
    // What lapses, and what nobody asks for while this process is held up for longer than the burst lasts.
    expect(admitted).toBeGreaterThanOrEqual(0.9 * most);
    for (const gw of gateways) expect(await metricOf(gw, 'gw_limit_fallback_total')).toBe(0);
  });
}

test.runIf(IS_LONG)('without its store each of three gateways counts for itself', async (t) => {
  const store = await redis();
  const gateways = await startThree(t, { ...THREE, cluster: 'limits wait=50ms;' });
  t.onTestFinished(() => store.signal('SIGCONT'));
  store.signal('SIGSTOP');
  const { admitted, seconds } = await loadOf(pairsOf(gateways, [200, 200, 200]), SECONDS);
  const most = 3 * (RATE * seconds + BURST + 1);
  expect(admitted).toBeLessThanOrEqual(most);
  expect(admitted).toBeGreaterThan(most / 3);
});

test('below the limit nothing is refused, and few requests ask the store', async (t) => {
  // As long as this process may be held up, so many requests come at once afterwards.
  const gateways = await startLimited(t, { zone: 'rate=400r/s sync', limit: 'burst=200 nodelay' });
  const { admitted, sent } = await loadOf(gateways.map((gw) => [gw, 75] as const), 3); // prettier-ignore
  expect(admitted).toBe(sent);
  const calls = await Promise.all(gateways.map((gw) => metricOf(gw, 'gw_limit_lease_calls_total')));
  for (const count of calls) expect(count).toBeLessThan(sent / 4);
});

for (const zone of ['rate=1r/m cluster=main', 'rate=1r/m sync', 'rate=1r/m cluster=main:exact']) {
  test(`of many requests at once exactly the burst and one more pass over both: ${zone}`, async (t) => {
    const gateways = await startLimited(t, { zone, limit: 'burst=9 nodelay' });
    expect(await admittedAtOnce(gateways, 30)).toBe(10);
    // A flood after that asks the store no more.
    const calls = await Promise.all(gateways.map((gw) => metricOf(gw, 'gw_limit_lease_calls_total')));
    expect(await admittedAtOnce(gateways, 30)).toBe(0);
    const after = await Promise.all(gateways.map((gw) => metricOf(gw, 'gw_limit_lease_calls_total')));
    expect(after).toEqual(calls);
  });
}

for (const { zone, count, stepMs } of [
  { zone: 'rate=4r/s cluster=main', count: 4, stepMs: 250 },
  { zone: 'rate=20r/s cluster=main', count: 11, stepMs: 50 },
]) {
  test(`requests are delayed as nginx does, over both: ${zone}`, async (t) => {
    const [a, b] = await startLimited(t, { zone, limit: 'burst=20' });
    const begunMs = performance.now();
    const ended = await Promise.all(
      Array.from({ length: count }, async (_, nth) => {
        const { body } = await (nth % 2 === 0 ? a : b).fetch('/?k=k');
        return { body, ms: performance.now() - begunMs };
      }),
    );
    const sorted = ended.toSorted((one, other) => one.ms - other.ms);
    expect(sorted.map(({ body }) => body)).toEqual(['PASSED', ...Array<string>(count - 1).fill('DELAYED')]);
    for (const [nth, { ms }] of sorted.entries()) {
      // Timers may fire a millisecond early, and the store counts whole milliseconds.
      expect(ms).toBeGreaterThanOrEqual(nth * stepMs - 5);
      // What a busy machine may take.
      expect(ms).toBeLessThan(nth * stepMs + 500);
    }
    await a.waitForLog(
      /\[warn\] .*delaying request, excess: \d+\.\d{3}, by zone "zone\d+", client: 127\.0\.0\.1/,
    );
  });
}

test('refusals are logged as nginx does, and a dry run only logs them', async (t) => {
  const spec = { zone: 'rate=1r/m cluster=main', namespace: freshNamespace() };
  const [a, b] = await startLimited(t, spec);
  const { url } = await redis();
  const dry = await load.c(t, limitedConf('c', url, { ...spec, more: 'limit_req_dry_run on;' }));
  await joinedAll([a, b, dry]);
  expect(await statusOf(a)).toBe(200);
  expect(await statusOf(b)).toBe(503);
  await b.waitForLog(
    /\[error\] .*limiting requests, excess: [01]\.\d{3} by zone "zone\d+", client: 127\.0\.0\.1/,
  );
  await dry.expect('GET /?k=k', { status: 200, body: 'REJECTED_DRY_RUN' });
  await dry.waitForLog(/\[error\] .*limiting requests, dry run, excess: [01]\.\d{3} by zone "zone\d+", /);
});

const fallbacks = [
  { fallback: 'local', statuses: [200, 200, 503, 503], each: 'lets each gateway count alone' },
  { fallback: 'open', statuses: [200, 200, 200, 200], each: 'lets everything pass' },
  { fallback: 'closed', statuses: [503, 503, 503, 503], each: 'refuses everything' },
] as const;
for (const { fallback, statuses, each } of fallbacks) {
  test(`without its store fallback=${fallback} ${each}`, async (t) => {
    const store = await redis();
    const cluster = `limits fallback=${fallback} wait=30ms;`;
    const gateways = await startLimited(t, { zone: 'rate=1r/m sync', limit: 'burst=1 nodelay', cluster });
    t.onTestFinished(() => store.signal('SIGCONT'));
    store.signal('SIGSTOP');
    for (const gw of gateways) {
      const found: number[] = [];
      for (const _ of statuses) found.push(await statusOf(gw));
      expect(found).toEqual(statuses);
      expect(await metricOf(gw, 'gw_limit_fallback_total')).toBe(statuses.length);
      if (fallback === 'closed')
        await gw.waitForLog(
          /limiting requests, no response from the store of the cluster, by zone "zone\d+"/,
        );
    }
  });
}

test('without its store fallback=share gives each gateway its part of the rate', async (t) => {
  const store = await redis();
  const [a] = await startLimited(t, {
    zone: 'rate=2r/s sync',
    limit: 'burst=5',
    cluster: 'limits fallback=share;',
  });
  t.onTestFinished(() => store.signal('SIGCONT'));
  store.signal('SIGSTOP');
  await a.expect('GET /?k=k', { body: 'PASSED' });
  const begunMs = performance.now();
  const second = Promise.all([a.fetch('/?k=k'), a.fetch('/?k=k')]);
  expect((await second).map(({ body }) => body)).toEqual(['DELAYED', 'DELAYED']);
  // Two requests at 1r/s, less what had passed since the first one; the whole rate would let them through after a second.
  expect(performance.now() - begunMs).toBeGreaterThan(1_500);
});

test('a store that hangs delays requests by no more than "wait", and one that is gone by nothing', async (t) => {
  const store = await redis('--databases', '4');
  const cluster = 'timeout 10s; limits wait=500ms fallback=open;';
  const [a] = await startLimited(t, { store, zone: 'rate=1r/m sync', cluster });
  store.signal('SIGSTOP');
  const begunMs = performance.now();
  expect(await admittedAtOnce([a], 20)).toBe(20);
  expect(performance.now() - begunMs).toBeLessThan(5_000);
  await store.stop('SIGKILL');
  await expect.poll(async () => (await clusterOf(a)).state).toBe('down');
  const laterMs = performance.now();
  for (let nth = 0; nth < 20; nth += 1) expect(await statusOf(a)).toBe(200);
  expect(performance.now() - laterMs).toBeLessThan(20 * 500);
});

test('after a restart of the store limits are shared again', async (t) => {
  const store = await redis('--databases', '5');
  const gateways = await startLimited(t, { store, zone: 'rate=1r/m sync' });
  const both = async (key: string): Promise<number[]> => {
    const found: number[] = [];
    for (const gw of gateways) found.push(await statusOf(gw, key));
    return found;
  };
  expect(await both('before')).toEqual([200, 503]);
  await store.stop('SIGKILL');
  await expect.poll(async () => both(String(performance.now()))).toEqual([200, 200]);
  await store.start();
  await expect.poll(async () => both(String(performance.now())), { timeout: 10_000 }).toEqual([200, 503]);
});

test('a limit goes on after a reload, also with another rate', async (t) => {
  const spec = { namespace: freshNamespace(), zone: 'rate=1r/m sync', limit: 'burst=1 nodelay' };
  const [a, b] = await startLimited(t, spec);
  const { url } = await redis();
  expect(await statusOf(a)).toBe(200);
  expect(await a.reload(limitedConf('a', url, spec))).toBe('done');
  expect(await statusOf(b)).toBe(200);
  expect(await statusOf(a)).toBe(503);
  const faster = limitedConf('a', url, { ...spec, zone: 'rate=20r/s sync' });
  expect(await a.reload(faster)).toBe('done');
  await expect.poll(() => statusOf(a)).toBe(200);
  expect(await a.reload(faster.replace('rate=20r/s sync', 'rate=1r/m'))).toBe('done');
  // The zone of this gateway goes on with what it has let through, and alone.
  await expect.poll(() => statusOf(a), { timeout: 5_000 }).toBe(503);
});

test('keys of clients become no other keys, whatever they are', async (t) => {
  const store = await redis('--databases', '6');
  const namespace = freshNamespace();
  const [a, b] = await startLimited(t, { store, namespace, zone: 'rate=1r/m sync' });
  const keys = ['a', 'a:b', '}', '{x}', `${name}:a`, '\r\nSET x y', '\0', 'ü', '%', 'x'.repeat(6_000)];
  for (const key of keys) {
    expect([key, await statusOf(a, key)]).toEqual([key, 200]);
    expect([key, await statusOf(b, key)]).toEqual([key, 503]);
  }
  const found = (await store.client.keys('*')).filter((key) => !key.includes(':nodes}'));
  expect(found).toHaveLength(keys.length);
  const bucket = new RegExp(`^gw:\\{${namespace}:li:${name}:[\\w-]{43}\\}$`);
  for (const key of found) expect(key).toMatch(bucket);
});

test('a request that a later limit refuses has been counted by the shared ones before it', async (t) => {
  const [a, b] = await startLimited(t, {
    zone: 'rate=1r/m cluster=main',
    limit: 'burst=2 nodelay',
    more: 'limit_req zone=mine;',
    http: 'limit_req_zone $arg_k zone=mine:1m rate=1r/m;',
  });
  expect([await statusOf(a), await statusOf(a), await statusOf(b), await statusOf(b)]).toEqual([
    200, 503, 200, 503,
  ]);
  await a.waitForLog(/limiting requests, excess: [01]\.\d{3} by zone "mine"/);
  await b.waitForLog(/limiting requests, excess: [23]\.\d{3} by zone "zone\d+"/);
});

test('another rate on another gateway is told with both names', async (t) => {
  const spec = { namespace: freshNamespace(), zone: 'rate=1r/m sync' };
  const gateways = await startLimited(t, spec);
  const { url } = await redis();
  expect(await gateways[1].reload(limitedConf('b', url, { ...spec, zone: 'rate=2r/m sync' }))).toBe('done');
  const said =
    /\[warn\] .*"li:zone\d+" has other parameters on node "(?:a" than on node "b|b" than on node "a)"/;
  await expect.poll(() => gateways.map((gw) => gw.errorLog()).join('')).toMatch(said);
});
