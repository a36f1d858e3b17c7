import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Gateway, type Owner, startGateway } from '../harness/gateway.ts';
import { startPeer, type TestPeer } from '../harness/peer.ts';
import { redis } from '../harness/redis.ts';
import { eventsOf, joined, SECRET } from './gateways.ts';
import { freshNamespace } from './stores.ts';

interface SharedUpstreams {
  readonly namespace: string;
  readonly url: string;
  /** The servers of the upstream, and more directives of its API. */
  readonly servers: string;
  readonly api?: string;
}

const confOf = (id: string, { namespace, url, servers, api = '' }: SharedUpstreams): string => `
  cluster main {
    backend ${url}; node_id ${id}; namespace ${namespace}; secret "${SECRET}"; heartbeat 200ms; batch 10ms; timeout 300ms;
  }
  upstream app { ${servers} dynamic_upstreams_managed; }
  server {
    location / { proxy_pass http://app; }
    location = /app {
      dynamic_upstreams_api; dynamic_upstreams_target app; dynamic_upstreams_cluster main; ${api}
      dynamic_upstreams_worker_events_zone bus; dynamic_upstreams_worker_events_channel app;
    }
    location = /events { worker_events_api; worker_events_zone bus; worker_events_channel app; }
    location = /cluster { control_api cluster; }
  }`;

async function startOne(t: Owner, id: string, shared: SharedUpstreams): Promise<Gateway> {
  const gw = await startGateway(t, confOf(id, shared), { workers: 2, fresh: false });
  await joined(gw);
  return gw;
}

async function startPeers(t: Owner, names: string): Promise<readonly (TestPeer & { address: string })[]> {
  const start = async (name: string): Promise<TestPeer & { address: string }> => {
    const peer = await startPeer(t, name);
    return Object.assign(peer, { address: `127.0.0.1:${peer.port}` });
  };
  return Promise.all([...names].map(start));
}

interface Shown {
  readonly generation: number;
  readonly peers: readonly { readonly address: string; readonly state: string }[];
}

const shownOf = async (gw: Gateway): Promise<Shown> => JSON.parse((await gw.fetch('/app')).body) as Shown;

async function write(gw: Gateway, method: 'PUT' | 'PATCH', body: object): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await gw.fetch('/app', { method, headers, body: JSON.stringify(body) });
  return JSON.parse(response.body) as unknown;
}

/** Which peers serve the next requests. */
async function served(gw: Gateway, count = 8): Promise<string> {
  const bodies = await Promise.all(Array.from({ length: count }, () => gw.fetch('/')));
  return [...new Set(bodies.map(({ body }) => body))].sort((a, b) => a.localeCompare(b)).join('');
}

test('what the API of one gateway is told all gateways do, tell, and keep', async (t) => {
  const [a, b, c] = await startPeers(t, 'abc');
  const { url } = await redis();
  const servers = `server ${a?.address};`;
  const shared = { namespace: freshNamespace(), url, servers, api: 'dynamic_upstreams_journal app.json;' };
  const [one, two] = await Promise.all([startOne(t, 'one', shared), startOne(t, 'two', shared)]);
  const peers = [{ address: b?.address, weight: 2 }, { address: c?.address }];
  expect(await write(one, 'PUT', { peers })).toMatchObject({ generation: 1 });
  await expect.poll(() => served(two)).toBe('bc');
  await write(one, 'PATCH', { drain: b?.address });
  await expect.poll(() => served(two)).toBe('c');
  await write(two, 'PATCH', { undrain: b?.address });
  await expect.poll(async () => (await shownOf(one)).peers.map(({ state }) => state)).toEqual(['up', 'up']);
  const told = (await eventsOf(two, '')).map(({ type, payload }) => [
    type,
    JSON.parse(payload ?? '') as object,
  ]);
  expect(told).toEqual([
    ['snapshot_activated', { target: 'app', source: 'cluster', generation: 1, peer_count: 2 }],
    ['peer_draining', { target: 'app', address: b?.address, drain_count: 1, generation: 1 }],
    ['peer_undrained', { target: 'app', address: b?.address, drain_count: 0, generation: 1 }],
  ]);
  const journal = JSON.parse(readFileSync(`${two.dir}/app.json`, 'utf8')) as { peers: { address: string }[] };
  expect(journal.peers.map(({ address }) => address)).toEqual([b?.address, c?.address]);
  // One that starts has the set at once; one whose servers are edited begins with those.
  const three = await startOne(t, 'three', shared);
  await expect.poll(() => served(three)).toBe('bc');
  await three.reload(confOf('three', { ...shared, servers: `${servers} server ${c?.address};` }));
  expect(await served(three)).toBe('ac');
});

test('a session that one gateway has learned stays with its server at another one', async (t) => {
  const respond: Parameters<typeof startPeer>[2] = ({ url = '' }, response) => {
    const session = /[?&]new=(\w+)/.exec(url)?.[1];
    if (session !== undefined) response.setHeader('Set-Cookie', `app=${session}`);
    response.end();
  };
  const peers = await Promise.all(['a', 'b', 'c'].map((name) => startPeer(t, name, respond)));
  const { url } = await redis();
  const namespace = freshNamespace();
  const conf = (id: string): string => `
    cluster main { backend ${url}; node_id ${id}; namespace ${namespace}; secret "${SECRET}"; batch 10ms; }
    upstream app {
      ${peers.map(({ port }) => `server 127.0.0.1:${port};`).join(' ')}
      sticky learn create=$upstream_cookie_app lookup=$cookie_app zone=sessions:1m sync;
    }
    server {
      location / { proxy_pass http://app; add_header Peer $upstream_addr; }
      location = /cluster { control_api cluster; }
    }`;
  const [one, two] = await Promise.all(
    ['one', 'two'].map((id) => startGateway(t, conf(id), { workers: 2, fresh: false })),
  );
  await Promise.all([one, two].map((gw) => joined(gw as Gateway)));
  const peerOf = async (gw: Gateway | undefined, path: string, session = ''): Promise<string | null> => {
    const response = await gw?.fetch(path, { headers: { Cookie: `app=${session}` } });
    return response?.headers.get('peer') ?? null;
  };
  const sessions = ['s1', 's2', 's3', 's4'];
  const learned = await Promise.all(sessions.map((session) => peerOf(one, `/?new=${session}`)));
  expect(new Set(learned).size).toBeGreaterThan(1);
  const bound = (gw: Gateway | undefined) => Promise.all(sessions.map((session) => peerOf(gw, '/', session)));
  // An unknown session gets the servers in turn, so that one of them may be the right one by chance.
  const thrice = async (gw: Gateway | undefined) => [await bound(gw), await bound(gw), await bound(gw)];
  await expect.poll(() => thrice(two)).toEqual([learned, learned, learned]);
  expect(await thrice(one)).toEqual([learned, learned, learned]);
});
