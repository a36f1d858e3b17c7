import { expect, test } from 'vitest';
import { type Gateway, type Owner, startGateway } from '../harness/gateway.ts';
import { redis, type TestRedis } from '../harness/redis.ts';
import { clusterOf, joined, SECRET } from './gateways.ts';
import { freshNamespace } from './stores.ts';

interface Shared {
  readonly store: TestRedis;
  readonly namespace: string;
}

const confOf = (
  id: string,
  { store, namespace }: Shared,
  { shares = 'cluster=main', more = '' } = {},
): string => `
  cluster main {
    backend ${store.url}; node_id ${id}; namespace ${namespace}; secret "${SECRET}"; heartbeat 500ms; batch 10ms;
  }
  shared_dict_zone zone=flags:1m evict ${shares};
  control_flags_zone flags;
  feature_flag $checkout checkout key=$arg_who;
  upstream app { server 127.0.0.1:1; dynamic_upstreams_managed; }
  server {
    location /runtime/ { control_api; }
    location = /checkout { return 200 $checkout; }
    location = /cluster { control_api cluster; }
    ${more}
  }`;

/** Two workers, of which one runs the node. */
async function startFlags(t: Owner, id: string, shared: Shared): Promise<Gateway> {
  const gw = await startGateway(t, confOf(id, shared), { workers: 2, fresh: false });
  await joined(gw);
  return gw;
}

const fieldsOf = async (gw: Gateway, path: string): Promise<unknown> =>
  JSON.parse((await gw.fetch(`/runtime/${path}`)).body) as unknown;

const isOn = async (gw: Gateway, who = 'ann'): Promise<string> =>
  (await gw.fetch(`/checkout?who=${who}`)).body;

/** Sets and removes a flag on one gateway, and waits for the other one to have it. */
async function switchFlag(one: Gateway, other: Gateway): Promise<void> {
  expect(await fieldsOf(one, 'flag/set?name=checkout&ttl_s=60')).toEqual({
    status: 'ok',
    action: 'set',
    name: 'checkout',
    enabled: 'true',
    rollout_pct: '100',
    ttl_s: '60',
  });
  await expect.poll(() => isOn(other)).toBe('1');
  expect(await fieldsOf(other, 'flag/unset?name=checkout')).toMatchObject({ action: 'unset' });
  await expect.poll(() => isOn(one)).toBe('0');
}

/** What a configuration that is refused does not share goes on to be shared. */
async function refuseOne(a: Gateway, b: Gateway, shared: Shared): Promise<void> {
  // Without a resolver the workers refuse it, when they have opened the rest.
  const broken =
    'location /app { dynamic_upstreams_api; dynamic_upstreams_target app; dynamic_upstreams_source dns; dynamic_upstreams_dns app.test:80; }';
  expect(await b.reload(confOf('b', shared, { shares: '', more: broken }))).toBe('refused');
  await switchFlag(b, a);
}

/** Shares the flags of `b` no more, and then again, while `a` goes on. */
async function shareAnew(a: Gateway, b: Gateway, shared: Shared): Promise<void> {
  expect(await b.reload(confOf('b', shared, { shares: '' }))).toBe('done');
  await fieldsOf(b, 'flag/set?name=local');
  await fieldsOf(a, 'flag/set?name=others');
  await fieldsOf(a, 'flag/unset?name=checkout');
  expect(await fieldsOf(b, 'flag?name=checkout')).toMatchObject({ status: 'ok' });
  expect(await fieldsOf(b, 'flag?name=others')).toMatchObject({ status: 'error' });
  await expect.poll(async () => (await clusterOf(b)).streams).toEqual([]);
  expect(await b.reload(confOf('b', shared))).toBe('done');
  await expect.poll(() => fieldsOf(a, 'flag?name=local')).toMatchObject({ status: 'ok' });
  await expect.poll(() => fieldsOf(b, 'flag?name=others')).toMatchObject({ status: 'ok' });
  // The store knows that it was deleted, and b had not seen that.
  await expect.poll(() => fieldsOf(b, 'flag?name=checkout')).toMatchObject({ status: 'error' });
  await b.waitForLog(/the change of "checkout" in "di:flags" was given up/);
}

test('a flag is the same on all gateways, whichever worker sets it, while a configuration shares it', async (t) => {
  const shared = { store: await redis(), namespace: freshNamespace() };
  const [a, b] = await Promise.all([startFlags(t, 'a', shared), startFlags(t, 'b', shared)]);
  // Each connection may be another worker's.
  for (let nth = 0; nth < 4; nth += 1) await (nth % 2 === 0 ? switchFlag(a, b) : switchFlag(b, a));
  await refuseOne(a, b, shared);
  await fieldsOf(a, 'flag/set?name=checkout&rollout_pct=50');
  await expect.poll(() => fieldsOf(b, 'flag?name=checkout')).toMatchObject({ rollout_pct: '50' });
  const people = Array.from({ length: 20 }, (_, nth) => `p${nth}`);
  const statesOf = (gw: Gateway): Promise<readonly string[]> =>
    Promise.all(people.map((who) => isOn(gw, who)));
  expect(await statesOf(b)).toEqual(await statesOf(a));
  expect((await clusterOf(b)).streams).toMatchObject([{ stream: 'di:flags', gaps: 0 }]);
  await shareAnew(a, b, shared);
}, 60_000);
