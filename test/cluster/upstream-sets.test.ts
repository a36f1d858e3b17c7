import { expect, test } from 'vitest';
import { keyedFields, sealEntry } from '../../src/cluster/index.ts';
import { UpstreamsSubject } from '../../src/cluster/subjects/upstreams-subject.ts';
import { type Member, readMembers } from '../../src/upstream/index.ts';
import { Membership } from '../../src/upstream/members/membership.ts';
import { createZone, SharedText } from '../../src/zone/index.ts';
import { redis } from '../harness/redis.ts';
import { startLightNode, type TestNode } from './keys.ts';
import { freshNamespace, readyStore } from './stores.ts';

const ROOM = 2_500;
const SOCKET = 'unix:/run/app.sock';

const peersOf = (...hosts: readonly (number | string)[]): readonly Member[] =>
  readMembers(JSON.stringify({ peers: hosts.map((host) => ({ address: `10.0.0.${host}:80` })) }));

const CONFIGURED = [...peersOf(1), { ...(peersOf(2)[0] as Member), address: SOCKET }];

/** The members of the upstream `app` in memory of their own. */
function openMembership(room = ROOM): Membership {
  const zone = createZone({ name: 'members', kind: 'shared text', bytes: 1024 + ROOM * 512 });
  return new Membership(new SharedText(zone, 1), room, {
    configured: () => CONFIGURED,
    isUnhealthy: () => false,
  });
}

interface SetNode extends TestNode {
  readonly namespace: string;
  readonly membership: Membership;
  /** `10.0.0.2:80` and so on; `configured` if they are those of the configuration. */
  readonly addresses: () => string;
  /** How often it has activated what another one had made. */
  readonly activated: () => number;
}

interface SetNodeOptions {
  readonly id: string;
  readonly namespace: string;
  readonly url?: string;
  readonly membership?: Membership;
  readonly configured?: string;
  readonly incarnation?: string;
}

async function startNode({
  id,
  namespace,
  url,
  membership = openMembership(),
  configured = 'c',
  ...more
}: SetNodeOptions): Promise<SetNode> {
  const started = startLightNode(id, { url: url ?? (await redis()).url, namespace, ...more });
  let activated = 0;
  const follow = (...args: Parameters<Membership['follow']>): boolean => {
    const change = membership.follow(...args);
    if (change?.changed) activated += 1;
    return change !== undefined;
  };
  const shared = new Map([['app', { name: 'app', configured, membership, follow }]]);
  const { nodeId, incarnation } = started.node;
  const log = {
    write: (level: string, message: string) => void (started.log as string[]).push(`${level}: ${message}`),
  };
  const subject = new UpstreamsSubject({ nodeId, incarnation, log, shared: () => shared });
  membership.share('main', () => subject.changed());
  // Two stores cannot both have the last word.
  expect(membership.share('other', () => undefined)).toBe(false);
  started.node.addKeyed(subject);
  await expect.poll(() => started.node.status.state).toBe('up');
  const addresses = (): string => {
    const { peers } = membership.set;
    return peers ? peers.map(({ address }) => address).join(' ') : 'configured';
  };
  return { ...started, namespace, membership, addresses, activated: () => activated };
}

async function startNodes(ids: string, options: Partial<SetNodeOptions> = {}): Promise<readonly SetNode[]> {
  const namespace = freshNamespace();
  return Promise.all([...ids].map((id) => startNode({ id, namespace, ...options })));
}

const pair = async (): Promise<readonly [SetNode, SetNode]> =>
  (await startNodes('ab')) as unknown as readonly [SetNode, SetNode];

test('what one gateway makes of the peers all activate, each as a generation of its own', async () => {
  const [a, b] = await pair();
  b.membership.note({ last_error_code: 7 });
  a.membership.put(peersOf(2, 3));
  await expect.poll(b.addresses).toBe('10.0.0.2:80 10.0.0.3:80');
  a.membership.patch({ kind: 'drain', address: '10.0.0.3:80' });
  await expect.poll(() => b.membership.set.draining).toEqual(['10.0.0.3:80']);
  expect(b.membership.set.last_error_code).toBe(7);
  b.membership.patch({ kind: 'lists', add: peersOf(4), remove: ['10.0.0.2:80'], replace: [] });
  await expect.poll(a.addresses).toBe('10.0.0.3:80 10.0.0.4:80');
  for (const { membership } of [a, b])
    expect(membership.set).toMatchObject({ generation: 2, draining: ['10.0.0.3:80'], last_error_code: 0 });
  expect([a.counts, b.counts]).toEqual([
    { sent: 2, received: 1 },
    { sent: 1, received: 2 },
  ]);
});

test('a worker that goes on with the node activates nothing anew, and sends what was changed meanwhile', async () => {
  const namespace = freshNamespace();
  const former = await startNode({ id: 'a', namespace, incarnation: 'one' });
  const { membership } = former;
  const b = await startNode({ id: 'b', namespace });
  membership.put(peersOf(2, 9));
  await expect.poll(b.addresses).toBe('10.0.0.2:80 10.0.0.9:80');
  b.membership.patch({ kind: 'drain', address: '10.0.0.2:80' });
  await expect.poll(() => membership.set.draining).toHaveLength(1);
  await former.close();
  membership.put(peersOf(3));
  const next = await startNode({ id: 'a', namespace, membership, incarnation: 'one' });
  await expect.poll(b.addresses).toBe('10.0.0.3:80');
  expect(next.activated()).toBe(0);
  expect([membership.set.generation, b.membership.set.generation]).toEqual([2, 2]);
});

test('peers that two gateways set at once end equal, and the one that is given up is told', async () => {
  const [a, b] = await pair();
  a.membership.put(peersOf(2));
  b.membership.put(peersOf(3));
  await expect.poll(() => (a.counts['conflict'] ?? 0) + (b.counts['conflict'] ?? 0)).toBe(1);
  await expect.poll(() => a.addresses() === b.addresses()).toBe(true);
  const loser = a.counts['conflict'] ? a : b;
  expect(loser.events).toEqual([expect.stringContaining('cluster_conflict {"stream":"up","key":"app"')]);
  loser.membership.put(peersOf(4));
  for (const { addresses } of [a, b]) await expect.poll(addresses).toBe('10.0.0.4:80');
});

test('a store that has lost the set gets it again, and gives it to a gateway that begins', async () => {
  const store = await redis('--databases', '3');
  const [a, b] = (await startNodes('ab', { url: store.url })) as unknown as [SetNode, SetNode];
  a.membership.put(peersOf(2));
  await expect.poll(b.addresses).toBe('10.0.0.2:80');
  await store.client.flushall();
  const [c] = (await startNodes('c', { url: store.url, namespace: a.namespace })) as [SetNode];
  await expect.poll(c.addresses).toBe('10.0.0.2:80');
  expect([a, b].map(({ membership }) => membership.set.generation)).toEqual([1, 1]);
});

test('a store that has lost the last set only gets it again, and does not replace it by the former one', async () => {
  const store = await redis('--databases', '3');
  const [a, b] = (await startNodes('ab', { url: store.url })) as unknown as [SetNode, SetNode];
  const keys = ['', ':n', ':k', ':x'].map((end) => `gw:{${a.namespace}:up}${end}`);
  b.membership.put(peersOf(2));
  await expect.poll(a.addresses).toBe('10.0.0.2:80');
  const dumps = await Promise.all(keys.map((key) => store.client.dumpBuffer(key)));
  a.membership.put(peersOf(3));
  await expect.poll(b.addresses).toBe('10.0.0.3:80');
  const undo = store.client.multi();
  for (const [nth, dump] of dumps.entries()) {
    undo.del(keys[nth] as string);
    if (dump) undo.restore(keys[nth] as string, 0, dump);
  }
  await undo.exec();
  // The store counts from there again.
  await expect.poll(() => [a.counts['resynced'], b.counts['resynced']]).toEqual([1, 1]);
  await expect
    .poll(() => [a, b].map((node) => [node.addresses(), node.node.status.streams[0]?.position]))
    .toEqual([
      ['10.0.0.3:80', 2],
      ['10.0.0.3:80', 2],
    ]);
});

test('what the server lines of another configuration were replaced by does not count here', async () => {
  const namespace = freshNamespace();
  const a = await startNode({ id: 'a', namespace });
  const b = await startNode({ id: 'b', namespace, configured: 'other' });
  a.membership.put(peersOf(2));
  const line =
    'warn: the set of upstream "app", as node "a" has made it, is not taken over: its "server" lines are others there';
  await expect.poll(() => b.log).toEqual([line]);
  a.membership.put(peersOf(3));
  await expect.poll(() => b.counts['received']).toBe(2);
  expect([b.addresses(), b.log]).toEqual(['configured', [line]]);
  b.membership.put(peersOf(4));
  await expect.poll(() => a.log).toHaveLength(1);
  expect(b.counts['conflict']).toBeUndefined();
});

test('a set that is too long for an entry stays here', async () => {
  const [a, b] = await pair();
  const many = Array.from({ length: ROOM }, (_, nth) => ({
    ...(peersOf(1)[0] as Member),
    address: `10.${nth >> 8}.${nth & 255}.100:8080`,
  }));
  a.membership.put(many);
  await expect
    .poll(() => a.log)
    .toEqual([
      'error: the set of upstream "app" has more than 65536 bytes: other gateways are not told of it',
    ]);
  a.membership.put(peersOf(2));
  await expect.poll(b.addresses).toBe('10.0.0.2:80');
});

const set = (more: object): string =>
  JSON.stringify({ node: 'x', sequence: 1, configured: 'c', draining: [], ...more });
const address = (text: string): object => ({ peers: [{ address: text }] });

/** Entries that a node has signed; `warned`: as far as it is a set at all. */
const unfit = [
  { it: 'no JSON', value: '{' },
  { it: 'no object', value: 'null' },
  { it: 'no value', value: undefined },
  { it: 'a name instead of an address', value: set(address('localhost:80')) },
  { it: 'an unknown field', value: set({ peers: [{ address: '10.0.0.9:80', port: 1 }] }) },
  { it: 'an address twice', value: set({ peers: [...peersOf(9), ...peersOf(9)] }) },
  { it: 'drained addresses that are none', value: set({ draining: [7] }) },
  { it: 'a node that has no name', value: set({ node: 'a\nb' }) },
  { it: 'a number that is none', value: set({ sequence: 1.5 }) },
  { it: 'a socket', value: set(address('unix:/etc/x')), warned: '"unix:/etc/x" is not in the configuration' },
  {
    it: 'too many peers',
    value: set({
      peers: Array.from({ length: 2_501 }, (_, n) => ({ address: `1.1.${n >> 8}.${n & 255}:1` })),
    }),
    warned: '2501 peers exceed the room for 2500',
  },
  { it: 'another upstream', key: 'none', value: set({}), warned: 'it is not shared here' },
] as const;

test('signed entries that do not fit are refused, and logged once as far as they are sets', async () => {
  const namespace = freshNamespace();
  const node = await startNode({ id: 'a', namespace });
  const { store } = await readyStore({ namespace });
  const seal = { secret: 'sesame', namespace };
  let seen = 0;
  for (const [nth, { value, ...more }] of [...unfit, ...unfit].entries()) {
    const key = 'key' in more ? more.key : 'app';
    const fields = keyedFields({ key, value, seen, ttlMs: 0 });
    const entry = { origin: 'x', incarnation: 'i', sequence: nth + 1, fields };
    [seen = 0] = await store.write('up', [sealEntry(seal, 'up', entry)]);
    expect(seen).toBe(nth + 1);
    // Of several entries that are read together, the last one of a key counts.
    await expect.poll(() => node.node.status.streams[0]?.position, { interval: 5 }).toBe(seen);
  }
  const good = { origin: 'x', incarnation: 'i', sequence: 99 };
  const fields = keyedFields({ key: 'app', value: set({ peers: [{ address: SOCKET }] }), seen, ttlMs: 0 });
  await store.write('up', [{ ...sealEntry(seal, 'up', { ...good, fields }), mac: 'forged' }]);
  await store.write('up', [sealEntry(seal, 'up', { ...good, sequence: 100, fields })]);
  await expect.poll(node.addresses).toBe(SOCKET);
  const warned = unfit.flatMap((one) => ('warned' in one ? [one] : []));
  const dropped =
    /entries of "up" are dropped: they were made with another secret, or are beyond the limits$/;
  expect(node.log.filter((line) => dropped.test(line))).toHaveLength(1);
  expect(node.log.filter((line) => !dropped.test(line))).toEqual(
    warned.map((one) => {
      const name = 'key' in one ? one.key : 'app';
      return `warn: the set of upstream "${name}", as node "x" has made it, is not taken over: ${one.warned}`;
    }),
  );
  expect(node.membership.set.generation).toBe(1);
  expect(node.counts['rejected']).toBe(2 * (unfit.length - warned.length) + 1);
});
