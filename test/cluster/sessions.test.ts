import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sealEntry } from '../../src/cluster/index.ts';
import { SessionsSubject } from '../../src/cluster/subjects/sessions-subject.ts';
import { Sessions } from '../../src/upstream/balancing/sessions.ts';
import { createZone, openDictionary } from '../../src/zone/index.ts';
import { redis } from '../harness/redis.ts';
import { startLightNode, type TestNode } from './keys.ts';
import { freshNamespace, readyStore } from './stores.ts';

interface SessionNode extends TestNode {
  readonly sessions: Sessions;
  /** Addresses by the digests of sessions that were to be told. */
  readonly told: ReadonlyMap<string, string>;
  readonly add: SessionsSubject['add'];
  readonly dropped: () => number;
  learn(session: string, host: number): void;
  /** A request ends with the peer of a host, which began when the session had that of another one, or none. */
  renew(session: string, host: number, found?: number): void;
  /** The host of a session's peer. */
  find(session: string): number | undefined;
}

const md5 = (session: string): string => createHash('md5').update(session).digest('base64');
const addressOf = (host: number): string => `10.0.0.${host}:80`;

/** A node whose upstream has the peers 1 to `peers`; their ids are its own. */
async function startNode(
  id: string,
  namespace: string,
  { peers = 3, timeoutMs = 60_000 } = {},
): Promise<SessionNode> {
  const started = startLightNode(id, { url: (await redis()).url, namespace });
  const zone = createZone({ name: 's', kind: 'dictionary', sizeBytes: 1_048_576 });
  const sessions = new Sessions(openDictionary(zone, 1, { evict: true }), timeoutMs);
  const hosts = Array.from({ length: peers }, (_, nth) => nth + 1);
  const peerOf = (host: number) => ({ address: addressOf(host), id: `${id}-${host}` });
  const peerAt = (address: string) => {
    const peer = hosts.map(peerOf).find((one) => one.address === address);
    return peer && { ...peer, name: '' };
  };
  let dropped = 0;
  const subject = new SessionsSubject({
    zone: 's',
    digest: 'd',
    group: () => ({ sessions, peerAt }),
    dropped: (count) => void (dropped += count),
  });
  const told = new Map<string, string>();
  sessions.tell((session, address) => {
    told.set(session, address);
    subject.add(new Map([[session, address]]));
  });
  started.node.add(subject);
  await expect.poll(() => started.node.status.state).toBe('up');
  return {
    ...started,
    sessions,
    told,
    add: (all) => subject.add(all),
    dropped: () => dropped,
    learn: (session, host) => sessions.learn(md5(session), peerOf(host)),
    renew: (session, host, found) =>
      sessions.renew(md5(session), peerOf(host), found === undefined ? '' : peerOf(found).id),
    find: (session) => hosts.find((host) => peerOf(host).id === sessions.find(md5(session))),
  };
}

async function pair(): Promise<readonly [SessionNode, SessionNode]> {
  const namespace = freshNamespace();
  return Promise.all([startNode('a', namespace), startNode('b', namespace)]);
}

test('a session that one gateway learns or moves all know, by their own ids of its peer', async () => {
  const [a, b] = await pair();
  a.learn('s', 2);
  await expect.poll(() => b.find('s')).toBe(2);
  b.renew('s', 3, 2);
  await expect.poll(() => a.find('s')).toBe(3);
});

test('a request that began before its session was heard of, or has moved, leaves it where it is', async () => {
  const [a, b] = await pair();
  a.learn('s', 2);
  await expect.poll(() => b.find('s')).toBe(2);
  b.renew('s', 3);
  b.renew('s', 1, 1);
  b.renew('unknown', 3);
  expect([b.find('s'), b.find('unknown'), b.told.size]).toEqual([2, undefined, 0]);
});

test('a session in use is told again after a quarter of its timeout', async () => {
  const a = await startNode('a', freshNamespace(), { timeoutMs: 800 });
  const told = async (): Promise<number> => {
    a.learn('s', 2);
    return a.counts['sent'] ?? 0;
  };
  await expect.poll(told).toBe(1);
  await expect.poll(told).toBe(2);
});

test('a session in use is not told before, whichever gateway has told it', async () => {
  const [a, b] = await pair();
  a.learn('s', 2);
  await expect.poll(() => b.find('s')).toBe(2);
  for (let n = 0; n < 10; n++) {
    a.learn('s', 2);
    b.learn('s', 2);
  }
  a.learn('last', 1);
  await expect.poll(() => b.find('last')).toBe(1);
  expect([a.counts['sent'], b.counts['sent'] ?? 0]).toEqual([2, 0]);
});

test('a session that two gateways give to different peers at once has one peer in the end', async () => {
  const [a, b] = await pair();
  const names = Array.from({ length: 200 }, (_, nth) => `s${nth}`);
  for (const name of names) {
    a.learn(name, 1);
    b.learn(name, 2);
  }
  const found = (node: SessionNode) => names.map((name) => node.find(name));
  await expect.poll(() => [a.counts['received'], b.counts['received']].every(Number)).toBe(true);
  await expect.poll(() => JSON.stringify(found(a)) === JSON.stringify(found(b))).toBe(true);
});

test('a gateway that starts knows the sessions of the last entries, a peer that it has not it does not learn', async () => {
  const namespace = freshNamespace();
  const a = await startNode('a', namespace);
  for (let nth = 0; nth < 300; nth++) a.learn(`s${nth}`, 1 + (nth % 3));
  await expect.poll(() => a.node.status.streams[0]?.position).toBeGreaterThan(4);
  const b = await startNode('b', namespace, { peers: 2 });
  await expect.poll(() => b.find('s298')).toBe(2);
  expect([b.find('s0'), b.find('s1'), b.find('s299')]).toEqual([1, 2, undefined]);
});

test('sessions beyond 2,000 in a second are dropped and counted', async () => {
  const [a, b] = await pair();
  a.add(new Map(Array.from({ length: 5_000 }, (_, nth) => [md5(`s${nth}`), addressOf(1)])));
  const addedMs = performance.now();
  await expect.poll(() => b.find('s1999')).toBe(1);
  expect([a.dropped(), b.find('s2000')]).toEqual([3_000, undefined]);
  // The next second has room again.
  await expect.poll(() => performance.now() - addedMs).toBeGreaterThan(1_000);
  a.learn('later', 2);
  await expect.poll(() => b.find('later')).toBe(2);
});

const digest = (session: string): string => md5(session).slice(0, 22);
const unfit = [
  { it: 'another name', fields: ['events', '[]'] },
  { it: 'more fields', fields: ['sessions', '[]', 'more', ''] },
  { it: 'no JSON', fields: ['sessions', '['] },
  { it: 'no list', fields: ['sessions', '{}'] },
  { it: 'no pairs', fields: ['sessions', JSON.stringify([['10.0.0.1:80']])] },
  { it: 'a session itself', fields: ['sessions', JSON.stringify([['10.0.0.1:80', ['secret']]])] },
  { it: 'a long address', fields: ['sessions', JSON.stringify([['x'.repeat(129), []]])] },
  {
    it: 'too many sessions',
    fields: ['sessions', JSON.stringify([['10.0.0.1:80', Array<string>(65).fill(digest('s'))]])],
  },
];

test('signed entries that are no sessions, and sessions without a signature, are dropped and counted', async () => {
  const namespace = freshNamespace();
  const a = await startNode('a', namespace);
  const { store } = await readyStore({ namespace });
  const fit = { it: 'fits', fields: ['sessions', JSON.stringify([['10.0.0.1:80', [digest('s')]]])] };
  const entries = [...unfit, fit].map(({ fields }, nth) =>
    sealEntry({ secret: 'sesame', namespace }, 'st:s', {
      origin: 'x',
      incarnation: 'i',
      sequence: nth + 1,
      fields,
    }),
  );
  const forged = { ...entries.at(-1)!, mac: 'forged' };
  await store.append('st:s', [...entries.slice(0, -1), forged]);
  await expect.poll(() => a.counts['rejected']).toBe(unfit.length + 1);
  expect(a.find('s')).toBeUndefined();
});
