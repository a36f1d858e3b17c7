import { expect, test } from 'vitest';
import { type Gateway, type Owner, startGateway } from '../harness/gateway.ts';
import { startPeer } from '../harness/peer.ts';
import { redis, type TestRedis } from '../harness/redis.ts';
import { joined, SECRET } from './gateways.ts';

const REFRESH_MS = 200;

interface Poll {
  readonly node: string;
  readonly atMs: number;
}

/** A source over HTTP that remembers who has asked it. */
async function startSource(t: Owner): Promise<{ url: string; polls: Poll[]; hosts: string[] }> {
  const polls: Poll[] = [];
  const hosts = ['10.0.0.1'];
  const peer = await startPeer(t, 'source', ({ headers }, response) => {
    polls.push({ node: String(headers['x-node']), atMs: performance.now() });
    response.setHeader('ETag', `"${hosts.join()}"`);
    response.statusCode = headers['if-none-match'] === `"${hosts.join()}"` ? 304 : 200;
    response.end(
      response.statusCode === 304
        ? undefined
        : JSON.stringify({ peers: hosts.map((host) => ({ address: `${host}:80` })) }),
    );
  });
  return { url: `http://127.0.0.1:${peer.port}/peers`, polls, hosts };
}

const confOf = (id: string, store: string, source: string): string => `
  cluster main {
    backend ${store}; node_id ${id}; secret "${SECRET}"; heartbeat 200ms; batch 10ms; timeout 300ms;
  }
  upstream app { server 127.0.0.1:1; dynamic_upstreams_managed; }
  server {
    location = /app {
      dynamic_upstreams_api; dynamic_upstreams_target app; dynamic_upstreams_cluster main;
      dynamic_upstreams_source http; dynamic_upstreams_http ${source};
      dynamic_upstreams_http_header X-Node ${id}; dynamic_upstreams_refresh ${REFRESH_MS}ms;
    }
    location = /cluster { control_api cluster; }
  }`;

async function addressesOf(gw: Gateway): Promise<string> {
  const { peers } = JSON.parse((await gw.fetch('/app')).body) as { peers: readonly { address: string }[] };
  return peers.map(({ address }) => address).join(' ');
}

/** Two gateways that ask one source. */
async function startAskers(t: Owner, store: TestRedis) {
  const { url, polls, hosts } = await startSource(t);
  const start = async (id: string): Promise<readonly [string, Gateway]> => {
    const gw = await startGateway(t, confOf(id, store.url, url), { expectAlerts: true });
    await joined(gw);
    return [id, gw];
  };
  const gateways = new Map([await start('a'), await start('b')]);
  /** Who has asked the last times. */
  const askers = (last: number): string =>
    [...new Set(polls.slice(-last).map(({ node }) => node))].sort().join('');
  return { gateways, polls, hosts, askers };
}

test('one gateway asks the source for all, another one if it dies, and each if the store does not tell', async (t) => {
  const store = await redis('--databases', '5');
  const { gateways, polls, hosts, askers } = await startAskers(t, store);
  const all = [...gateways.values()];
  const allHave = (addresses: string): Promise<unknown> =>
    Promise.all(all.map((gw) => expect.poll(() => addressesOf(gw), { timeout: 5_000 }).toBe(addresses)));
  /** Resolves when five times in a row the same one has asked. */
  const oneAsks = (): Promise<unknown> => {
    const from = polls.length;
    const latest = (): string => (polls.length < from + 5 ? '' : askers(5));
    return expect.poll(latest, { timeout: 15_000 }).toMatch(/^[ab]$/);
  };

  await allHave('10.0.0.1:80');
  await oneAsks();
  hosts.push('10.0.0.2');
  await allHave('10.0.0.1:80 10.0.0.2:80');

  store.signal('SIGSTOP');
  await expect.poll(() => askers(4), { timeout: 10_000 }).toBe('ab');
  hosts.splice(0, 2, '10.0.0.3');
  await allHave('10.0.0.3:80');
  store.signal('SIGCONT');
  await oneAsks();
  await allHave('10.0.0.3:80');

  const holder = askers(1);
  await gateways.get(holder)?.stop('SIGKILL');
  const last = polls.at(-1) as Poll;
  await expect.poll(() => askers(1), { timeout: 10_000 }).toBe(holder === 'a' ? 'b' : 'a');
  const next = polls.find(({ node, atMs }) => node !== holder && atMs > last.atMs) as Poll;
  expect(next.atMs - last.atMs).toBeGreaterThan(REFRESH_MS);
});
