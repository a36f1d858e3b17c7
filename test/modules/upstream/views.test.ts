import { expect, test, vi } from 'vitest';
import type { Overview } from '../../../src/modules/control/console/contract.ts';
import { startGateway } from '../../harness/gateway.ts';
import { startPeer } from '../../harness/peer.ts';
import { eventually, sumOf } from '../control/scrapes.ts';

const confOf = (servers: string): string =>
  `upstream u { ${servers} }
   server {
     location / { proxy_http_version 1.1; proxy_pass http://u; }
     location = /metrics { control_api metrics; }
     location /_gw/ { control_console on; }
   }`;

test('metrics count requests, failures and times by peer, over all workers, and show which peers are up', async (t) => {
  const [lives, dead] = await Promise.all(['lives', 'dead'].map((name) => startPeer(t, name)));
  if (!lives || !dead) throw new Error('no peers');
  const servers = `server 127.0.0.1:${lives.port}; server 127.0.0.1:${dead.port} fail_timeout=1h; server 127.0.0.1:1 down;`;
  const gw = await startGateway(t, confOf(servers), { workers: 2 });
  await dead.die();
  for (let n = 0; n < 10; n++) await gw.expect('GET /', { body: 'lives' });
  const of = (peer: number): string => `{upstream="u",peer="127.0.0.1:${peer}"}`;
  const metrics = await eventually(gw, (seen) =>
    expect(seen.get(`gw_upstream_requests_total${of(lives.port)}`)).toBe(10),
  );
  expect(metrics.get(`gw_upstream_requests_total${of(dead.port)}`)).toBe(1);
  expect(metrics.get(`gw_upstream_failures_total${of(dead.port)}`)).toBe(1);
  expect(metrics.get(`gw_upstream_failures_total${of(lives.port)}`)).toBe(0);
  expect(sumOf(metrics, new RegExp(`^gw_upstream_response_seconds_count.*:${lives.port}"`))).toBe(10);
  const up = [lives.port, dead.port, 1].map((port) => metrics.get(`gw_upstream_peer_up${of(port)}`));
  expect(up).toEqual([1, 0, 0]);

  expect(await gw.reload(confOf(`server 127.0.0.1:${lives.port};`))).toBe('done');
  await eventually(gw, (seen) => expect(seen.get(`gw_upstream_peer_up${of(dead.port)}`)).toBeUndefined());
});

for (const [it, of] of [
  ['the only peer of a group', (port: number) => `upstream only { server 127.0.0.1:${port}; }`],
  [
    'a peer that failures never rest',
    (port: number) => `upstream only { server 127.0.0.1:${port} max_fails=0; server 127.0.0.1:1 down; }`,
  ],
] as const) {
  test(`${it} is not up while all its requests fail, and is again after the first that does not`, async (t) => {
    const peer = await startPeer(t, 'alone');
    const gw = await startGateway(
      t,
      `${of(peer.port)} server { location / { proxy_pass http://only; }
         location = /metrics { control_api metrics; } location /_gw/ { control_console on; } }`,
      { workers: 2 },
    );
    const up = `gw_upstream_peer_up{upstream="only",peer="127.0.0.1:${peer.port}"}`;
    const stateOf = async (): Promise<unknown> => {
      const { body } = await gw.fetch('/_gw/data/overview');
      return (JSON.parse(body) as Overview).upstreams.find(({ name }) => name === 'only')?.peers[0]?.state;
    };
    await gw.expect('GET /', { body: 'alone' });
    await peer.die();
    for (let n = 0; n < 3; n++) await gw.expect('GET /', { status: 502 });
    await eventually(gw, (seen) => expect(seen.get(up)).toBe(0));
    expect(await stateOf()).toBe('failing');
    await peer.revive();
    await gw.expect('GET /', { body: 'alone' });
    await eventually(gw, (seen) => expect(seen.get(up)).toBe(1));
    expect(await stateOf()).toBe('up');
  });
}

test('a literal host is a peer with metrics of its own', async (t) => {
  const gw = await startGateway(
    t,
    `server { location / { proxy_pass http://127.0.0.1:1; } location = /metrics { control_api metrics; } }`,
  );
  const up = 'gw_upstream_peer_up{upstream="127.0.0.1:1",peer="127.0.0.1:1"}';
  await eventually(gw, (seen) => expect(seen.get(up)).toBe(1));
  for (let n = 0; n < 3; n++) await gw.expect('GET /', { status: 502 });
  await eventually(gw, (seen) => expect(seen.get(up)).toBe(0));
});

test('the console shows the state of each peer of a group', async (t) => {
  const peer = await startPeer(t, 'p');
  const servers = `server 127.0.0.1:${peer.port}; server 127.0.0.1:1 down; server 127.0.0.1:2 backup;`;
  const gw = await startGateway(t, confOf(servers));
  await gw.expect('GET /', { body: 'p' });
  await vi.waitFor(async () => {
    const { body } = await gw.fetch('/_gw/data/overview');
    expect((JSON.parse(body) as Overview).upstreams).toMatchObject([
      {
        name: 'u',
        peers: [
          { address: `127.0.0.1:${peer.port}`, state: 'up', requests: 0 },
          { address: '127.0.0.1:1', state: 'down' },
          { address: '127.0.0.1:2', state: 'up' },
        ],
      },
    ]);
  });
});

test('metrics count the requests of a sticky group that were bound, moved or new', async (t) => {
  const [a, b] = await Promise.all(['a', 'b'].map((name) => startPeer(t, name)));
  if (!a || !b) throw new Error('no peers');
  const servers = `server 127.0.0.1:${a.port} route=a; server 127.0.0.1:${b.port} route=b; sticky route $arg_r;`;
  const gw = await startGateway(t, confOf(servers), { workers: 2, fresh: true });
  for (const path of ['/', '/?r=a', '/?r=b', '/?r=b', '/?r=gone']) await gw.fetch(path);
  const of = (result: string): string => `gw_upstream_sticky_total{upstream="u",result="${result}"}`;
  const metrics = await eventually(gw, (seen) => expect(seen.get(of('bound'))).toBe(3));
  expect([metrics.get(of('new')), metrics.get(of('moved'))]).toEqual([1, 1]);
});
