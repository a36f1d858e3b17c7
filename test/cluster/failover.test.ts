import { expect, test } from 'vitest';
import type { Gateway } from '../harness/gateway.ts';
import type { TestRedis } from '../harness/redis.ts';
import { replication } from '../harness/sentinels.ts';
import { perTier } from '../harness/tier.ts';
import {
  eventsOf,
  joined,
  numbered,
  payloadsOf,
  publishAll,
  sorted,
  startNode,
  startPair,
} from './gateways.ts';

const ROUNDS = perTier({ short: 1, long: 6 });
const MANY = perTier({ short: 20, long: 400 });
/** They take less than the time after which Sentinels do not promote a replica that is behind. */
const FEW = 20;

/** Keeps a replica from following its master, until it is a master itself or is released. */
async function holdBack(master: TestRedis, replica: TestRedis): Promise<void> {
  await replica.client.config('SET', 'masteruser', 'nobody', 'masterauth', 'nothing');
  await master.client.call('client', 'kill', 'type', 'replica');
  await expect.poll(() => replica.client.info('replication')).toContain('master_link_status:down');
}

/** The replica has what the master has. */
async function hasAll(master: TestRedis, replica: TestRedis): Promise<void> {
  const [, offset = ''] = /master_repl_offset:(\d+)/.exec(await master.client.info('replication')) ?? [];
  const reached = async (): Promise<number> =>
    Number(/slave_repl_offset:(\d+)/.exec(await replica.client.info('replication'))?.[1]);
  await expect.poll(reached).toBeGreaterThanOrEqual(Number(offset));
}

async function follows(master: TestRedis, replica: TestRedis): Promise<void> {
  await replica.client.config('SET', 'masteruser', '', 'masterauth', '');
  await expect.poll(() => replica.client.info('replication')).toContain(`master_port:${master.port}`);
  await expect.poll(() => replica.client.info('replication')).toContain('master_link_status:up');
}

const gapsOf = async (gw: Gateway): Promise<number> =>
  (await eventsOf(gw)).filter(({ type }) => type === 'cluster_gap').length;

async function flagsOf(gw: Gateway): Promise<readonly string[]> {
  const flags = JSON.parse((await gw.fetch('/flags')).body) as readonly { name: string }[];
  return flags.map(({ name }) => name).toSorted();
}

/** What was published and set on the gateways, and so must be on each of them. */
interface Model {
  readonly published: string[];
  readonly flags: string[];
}

/** Publishes events and sets a flag on each gateway. */
async function publish({ published, flags }: Model, name: string, both: readonly Gateway[]): Promise<void> {
  const count = name.startsWith('kept') ? MANY : FEW;
  for (const [at, gw] of both.entries()) {
    const names = numbered(`${name} of ${at}`, count);
    const flag = `${name} of ${at}`.replaceAll(' ', '_');
    await publishAll(gw, names);
    expect((await gw.fetch(`/set?name=${flag}&ttl_s=0`)).status).toBe(200);
    published.push(...names);
    flags.push(flag);
  }
}

async function expectAll({ published, flags }: Model, gateways: readonly Gateway[]): Promise<void> {
  const options = { timeout: 20_000 };
  for (const gw of gateways) {
    await expect.poll(async () => sorted(await payloadsOf(gw)), options).toEqual(sorted(published));
    await expect.poll(() => flagsOf(gw), options).toEqual(sorted(flags));
  }
}

test('what a failover has lost is told and sent again, and all have the same events and flags', async (t) => {
  const { url, ...servers } = await replication(t);
  let [master, replica] = [servers.master, servers.replica];
  const spec = {
    backend: url,
    ringSize: 16_384,
    http: 'shared_dict_zone zone=feature_flags:1m cluster=main;',
    server: 'location = /flags { control_api flags; } location = /set { control_api flag_set; }',
  };
  const both = await startPair(t, spec);
  const model: Model = { published: [], flags: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    await publish(model, `kept in ${round}`, both);
    await expectAll(model, both);
    await hasAll(master, replica);
    await holdBack(master, replica);
    await publish(model, `lost in ${round}`, both);
    await expectAll(model, both);
    await master.stop('SIGKILL');
    await publish(model, `meanwhile in ${round}`, both);
    await expect.poll(() => replica.client.info('replication'), { timeout: 15_000 }).toContain('role:master');
    await expectAll(model, both);
    const gaps = await Promise.all(both.map(gapsOf));
    expect(Math.max(...gaps)).toBeGreaterThan(round);
    await master.start();
    [master, replica] = [replica, master];
    if (round + 1 < ROUNDS) await follows(master, replica);
  }
  // It has them from the store, where those that were lost are again.
  const late = await startNode(t, { id: 'late', ...spec });
  await joined(late);
  await expectAll(model, [late]);
}, 300_000);
