import { expect, test } from 'vitest';
import { type Gateway, oneGateway, type Owner } from '../harness/gateway.ts';
import { redis } from '../harness/redis.ts';
import { perTier } from '../harness/tier.ts';
import { clusterOf, joined, SECRET } from './gateways.ts';
import { freshNamespace, readyStore } from './stores.ts';

const NAMES = ['a', 'b', 'c'] as const;
const load = {
  a: oneGateway({ workers: 2 }),
  b: oneGateway({ workers: 2 }),
  c: oneGateway({ workers: 2 }),
};

interface Spec {
  readonly zone: string;
  readonly http?: string;
  readonly location?: string;
  readonly cluster?: string;
  readonly url?: string;
}

/** Keys of a test: counts outlive a reload. */
let names = 0;

async function startAll(t: Owner, spec: Spec): Promise<readonly Gateway[]> {
  const { zone, http = '', location = '', cluster = 'limits wait=10s;', url = (await redis()).url } = spec;
  const namespace = freshNamespace();
  const name = `q${(names += 1)}`;
  const conf = (id: string): string => `
    cluster main { backend ${url}; node_id ${id}; secret "${SECRET}"; namespace ${namespace}; heartbeat 200ms; ${cluster} }
    quota_zone $arg_k zone=${name}:1m ${zone} ; ${http}
    server {
      location / { quota zone=${name} cost=$arg_c; ${location} echo -n ok; }
      location = /cluster { control_api cluster; }
      location = /metrics { control_api metrics; }
    }`;
  const all = await Promise.all(NAMES.map((id) => load[id](t, conf(id))));
  await Promise.all(all.map(joined));
  for (const gw of all)
    await expect.poll(async () => (await clusterOf(gw)).members_total).toBeGreaterThanOrEqual(NAMES.length);
  return all;
}

/** How many of these requests pass, which come at once. */
async function passed(gateways: readonly Gateway[], count: number, query = 'k=x&c=1'): Promise<number> {
  const calls = gateways.flatMap((gw) =>
    Array.from({ length: count }, async () => (await gw.fetch(`/?${query}`)).status),
  );
  return (await Promise.all(calls)).filter((status) => status === 200).length;
}

const LIMIT = perTier({ short: 1_200, long: 100_000 });

for (const exact of ['', ':exact'])
  test(`three gateways serve a quota together, and no more: cluster=main${exact}`, async (t) => {
    const gateways = await startAll(t, { zone: `limit=${LIMIT}/month cluster=main${exact}` });
    let sum = 0;
    for (let sent = 0; sent < 1.5 * LIMIT; sent += 300) sum += await passed(gateways, 100);
    expect(sum).toBeLessThanOrEqual(LIMIT);
    expect(sum).toBeGreaterThanOrEqual(exact === '' ? 0.99 * LIMIT : LIMIT);
  });

test('a costly request is refused as a whole, and what another quota refuses costs nothing', async (t) => {
  const gateways = await startAll(t, {
    zone: 'limit=10/month cluster=main',
    http: 'quota_zone $arg_l zone=own:1m limit=1/month;',
    location: 'quota zone=own;',
  });
  const [a, b] = gateways as [Gateway, Gateway];
  expect(await passed([a], 1, 'k=m&c=8')).toBe(1);
  expect(await passed([b], 1, 'k=m&c=3')).toBe(0);
  expect(await passed([b], 1, 'k=m&c=2')).toBe(1);
  // The gateway's own quota lets one request pass.
  for (const expected of [1, 0, 0]) expect(await passed([a], 1, 'k=n&c=5&l=n')).toBe(expected);
  // What was refused is given back after the response, and what the store has refused once is not asked again at once.
  await expect.poll(() => passed([b], 1, 'k=n&c=5')).toBe(1);
});

test('the headers tell what is left for all gateways', async (t) => {
  const gateways = await startAll(t, { zone: 'limit=10/month cluster=main' });
  for (const [nth, gw] of gateways.entries()) {
    const { headers } = await gw.fetch('/?k=x&c=1');
    expect(headers.get('ratelimit')).toContain(`;r=${9 - nth};t=`);
  }
});

const fallbacks = [
  { rule: 'local', each: 6 },
  { rule: 'share', each: 2 },
  { rule: 'open', each: 10 },
  { rule: 'closed', each: 0 },
];
for (const { rule, each } of fallbacks)
  test(`without its store a quota falls back as the cluster says: ${rule}`, async (t) => {
    const server = await redis('--maxclients', '1000');
    const [a] = await startAll(t, {
      zone: 'limit=6/month cluster=main:exact',
      cluster: `limits wait=50ms fallback=${rule};`,
      url: server.url,
    });
    server.signal('SIGSTOP');
    try {
      expect(await passed([a as Gateway], 10, `k=${rule}&c=1`)).toBe(each);
    } finally {
      server.signal('SIGCONT');
    }
  });

test('the store has a counter for each key and window, under a hash, which ends after the window', async () => {
  const one = await readyStore();
  const { client } = await redis();
  const counting = { zone: 'z', keyHash: 'h', limit: 10, needed: 4, more: 2, ttlMs: 5_000 };
  expect(await one.store.count(counting)).toEqual({ requests: 6, used: 6 });
  expect(await one.store.count(counting)).toEqual({ requests: 4, used: 10 });
  expect(await one.store.count(counting)).toEqual({ requests: 0, used: 10 });
  expect(await one.store.count({ ...counting, needed: -3, more: 0 })).toEqual({ requests: 0, used: 7 });
  expect(await one.store.count(counting)).toEqual({ requests: 0, used: 7 });
  expect(await one.store.count({ ...counting, needed: 3 })).toEqual({ requests: 3, used: 10 });
  expect(await one.store.count({ ...counting, keyHash: 'i', needed: 11 })).toEqual({ requests: 0, used: 0 });
  const key = one.key('qu:z:h');
  expect(await client.get(key)).toBe('10');
  const leftMs = await client.pttl(key);
  expect(leftMs).toBeGreaterThan(0);
  expect(leftMs).toBeLessThanOrEqual(5_000);
  await client.set(key, 'nonsense');
  expect(await one.store.count(counting)).toEqual({ requests: 6, used: 6 });
});
