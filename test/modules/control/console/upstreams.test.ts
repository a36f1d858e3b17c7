import { expect, test } from 'vitest';
import {
  DATA_PATHS,
  type GroupState,
  type PeerChange,
  type UpstreamPage,
} from '../../../../src/modules/control/console/contract.ts';
import { type Gateway, oneGateway } from '../../../harness/gateway.ts';
import { type ReceivedResponse } from '../../../harness/http.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { startPeer } from '../../../harness/peer.ts';
import { ConsoleBrowser, expectShown } from './console-browser.ts';

const load = oneGateway({ workers: 2 });

/** Counts and members of an upstream survive a reload, so each test has its own names. */
let tests = 0;

const confOf = (name: string, servers: string, location = ''): string =>
  `upstream ${name} { ${servers} }
   upstream fixed${name} { server 127.0.0.1:1 down; least_conn; }
   server {
     location / { proxy_pass http://${name}; }
     location /_gw/ { control_console on; }
     ${location}
   }`;

const apiOf = (name: string, more = ''): string =>
  `location = /api { dynamic_upstreams_api; dynamic_upstreams_target ${name}; ${more} }`;

async function groupOf(gw: Gateway, name: string): Promise<GroupState | undefined> {
  const { body } = await gw.expect(`GET /_gw/${DATA_PATHS.upstreams}`, { status: 200 });
  return (JSON.parse(body) as UpstreamPage).upstreams.find((group) => group.name === name);
}

const change = (gw: Gateway, body: PeerChange | object): Promise<ReceivedResponse> => {
  const headers = { 'Content-Type': 'application/json', 'X-Gw-Console': '1' };
  return gw.fetch(`/_gw/${DATA_PATHS.upstreams}`, { method: 'POST', headers, body: JSON.stringify(body) });
};

const NEVER = { lastErrorMs: 0, lastErrorCode: 0, isRestored: false };

test('the console shows the method of a group, and the counts, states and times of its peers', async (t) => {
  const [a, b] = await Promise.all([startPeer(t, 'a'), startPeer(t, 'b')]);
  const name = `u${++tests}`;
  const servers = `server 127.0.0.1:${a.port} weight=3; server 127.0.0.1:${b.port} fail_timeout=1h; server 127.0.0.1:1 backup;`;
  const gw = await load(t, confOf(name, servers));
  for (let nth = 0; nth < 8; nth++) await gw.expect('GET /', { status: 200 });
  const before = Date.now();
  await b.die();
  for (let nth = 0; nth < 4; nth++) await gw.expect('GET /', { body: 'a' });
  await expect.poll(async () => (await groupOf(gw, name))?.peers[1]?.sinceMs).toBeGreaterThanOrEqual(before);
  const group = await groupOf(gw, name);
  expect(group).toMatchObject({ method: 'round_robin' });
  expect(group?.members).toBeUndefined();
  const quiet = { requests: 0, drains: false, probes: [] };
  expect(group?.peers).toMatchObject([
    {
      ...quiet,
      address: `127.0.0.1:${a.port}`,
      state: 'up',
      weight: 3,
      picks: 10,
      failures: 0,
      backup: false,
    },
    { ...quiet, address: `127.0.0.1:${b.port}`, state: 'unavailable', picks: 3, failures: 1 },
    { ...quiet, address: '127.0.0.1:1', state: 'up', picks: 0, share: 0, backup: true },
  ]);
  expect(group?.peers[0]?.share).toBeCloseTo(10 / 13);
  expect(group?.peers[0]?.times?.buckets.reduce((sum, count) => sum + count, 0)).toBe(10);
  expect(await groupOf(gw, `fixed${name}`)).toMatchObject({
    method: 'least_conn',
    peers: [{ state: 'down' }],
  });
});

test('the console shows the last probes of checked peers', async (t) => {
  const peer = await startPeer(t, 'p', (_, response) => void response.writeHead(503).end());
  const name = `u${++tests}`;
  const gw = await load(
    t,
    confOf(
      name,
      `server 127.0.0.1:${peer.port}; server 127.0.0.1:1; health_check interval=100ms fails=1 uri=/up;`,
    ),
  );
  await expect
    .poll(async () => (await groupOf(gw, name))?.peers.map(({ state }) => state))
    .toEqual(['unhealthy', 'unhealthy']);
  const probes = (await groupOf(gw, name))?.peers.map((shown) => shown.probes[0]);
  expect(probes).toMatchObject([
    { uri: '/up', verdict: 'unhealthy', status: 503 },
    { verdict: 'unhealthy', status: 0 },
  ]);
  expect(probes?.[0]?.probedMs).toBeGreaterThan(Date.now() - 60_000);
});

test('a peer is drained, undrained and weighed in the console, as by the API', async (t) => {
  const name = `u${++tests}`;
  const servers = 'server 10.0.0.1:80; server 10.0.0.2:80; dynamic_upstreams_managed;';
  const journal = 'dynamic_upstreams_journal state/app.json;';
  const gw = await load(t, confOf(name, servers, apiOf(name, journal)), { 'state/none': '' });
  const members = { generation: 0, source: 'static', isWritable: true, lastSuccessMs: 0, ...NEVER };
  expect((await groupOf(gw, name))?.members).toEqual(members);

  const drained = await change(gw, { upstream: name, drain: '10.0.0.1:80' });
  const shown = (JSON.parse(drained.body) as UpstreamPage).upstreams.find((group) => group.name === name);
  expect(shown?.peers).toMatchObject([
    { state: 'draining', drains: true },
    { state: 'up', drains: false },
  ]);
  // The journal and the API have the members of the response.
  expect(JSON.parse(gw.read('state/app.json'))).toMatchObject({ draining: ['10.0.0.1:80'] });
  expect((await gw.fetch('/api')).body).toContain('"drain_count":1');

  expect((await change(gw, { upstream: name, undrain: '10.0.0.1:80' })).status).toBe(200);
  expect((await change(gw, { upstream: name, weigh: '10.0.0.2:80', weight: 5 })).status).toBe(200);
  const group = await groupOf(gw, name);
  expect(group?.peers.map(({ state, weight }) => [state, weight])).toEqual([
    ['up', 1],
    ['up', 5],
  ]);
  expect(group?.members).toMatchObject({ generation: 1 });
  expect(group?.members?.lastSuccessMs).toBeGreaterThan(Date.now() - 60_000);
});

const refusals = [
  { it: 'of a group that does not exist', body: { upstream: 'none', drain: '10.0.0.1:80' }, status: 409 },
  { it: 'of a group that is fixed', body: { upstream: 'FIXED', drain: '127.0.0.1:1' }, status: 409 },
  { it: 'of no group', body: { drain: '10.0.0.1:80' }, status: 400 },
  { it: 'of nothing', body: { upstream: 'NAME' }, status: 400 },
  { it: 'that is no object', body: [], status: 400 },
  { it: 'of a missing peer', body: { upstream: 'NAME', drain: '10.9.9.9:80' }, status: 404 },
  {
    it: 'of an invalid weight',
    body: { upstream: 'NAME', weigh: '10.0.0.1:80', weight: 0 },
    status: 400,
  },
  { it: 'of an unknown kind', body: { upstream: 'NAME', remove_all: true }, status: 400 },
  { it: 'that leaves no peer', body: { upstream: 'NAME', remove: ['10.0.0.1:80'] }, status: 400 },
] as const;

test('a change in the console that is not possible is refused with its reason', async (t) => {
  const name = `u${++tests}`;
  const gw = await load(t, confOf(name, 'server 10.0.0.1:80; dynamic_upstreams_managed;', apiOf(name)));
  for (const { it, body, status } of refusals) {
    const text = JSON.stringify(body).replace('NAME', name).replace('FIXED', `fixed${name}`);
    const response = await change(gw, JSON.parse(text) as object);
    expect([it, response.status]).toEqual([it, status]);
    expect((JSON.parse(response.body) as { error?: string }).error).toMatch(/\w/);
  }
  const plain = { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } };
  expect((await gw.fetch(`/_gw/${DATA_PATHS.upstreams}`, plain)).status).toBe(403);
});

test('a group with a source shows its last refresh and fault, and only drains', async (t) => {
  const name = `u${++tests}`;
  const source = 'dynamic_upstreams_source_file peers.json; dynamic_upstreams_refresh 50;';
  const servers = 'server 10.0.0.9:80; dynamic_upstreams_managed;';
  const gw = await load(t, confOf(name, servers, apiOf(name, source)), {
    'peers.json': JSON.stringify({ peers: [{ address: '10.0.0.1:80' }, { address: '10.0.0.2:80' }] }),
  });
  expect((await groupOf(gw, name))?.members).toMatchObject({ source: 'file', isWritable: false, ...NEVER });
  gw.lay({ 'peers.json': '{' });
  await expect.poll(async () => (await groupOf(gw, name))?.members?.lastErrorCode).toBe(4001);
  const { members } = (await groupOf(gw, name)) ?? {};
  expect(members?.lastErrorMs).toBeGreaterThanOrEqual(members?.lastSuccessMs ?? Infinity);
  expect((await change(gw, { upstream: name, weigh: '10.0.0.1:80', weight: 2 })).status).toBe(409);
  expect((await change(gw, { upstream: name, drain: '10.0.0.1:80' })).status).toBe(200);
});

const browser = new ConsoleBrowser(
  wholeFile(),
  `upstream app { server 10.0.0.1:80; server 10.0.0.2:80 backup; dynamic_upstreams_managed; }
   upstream other { server 127.0.0.1:1 down; ip_hash; }
   server { server_name ops; ${apiOf('app')} }`,
);

test('the page shows each upstream, and drains and weighs its peers', async (t) => {
  const page = await browser.look(t, 'upstreams');
  const other = page.getByRole('region', { name: 'Upstream other' });
  await expectShown(other.getByText('ip hash · fixed by the configuration'));
  await expectShown(other.getByRole('row', { name: /^127\.0\.0\.1:1 down/ }));
  expect(await other.getByRole('button').count()).toBe(0);

  const app = page.getByRole('region', { name: 'Upstream app' });
  await expectShown(app.getByText('round robin · generation 0 · changed by the API'));
  const weight = app.getByRole('spinbutton', { name: 'Weight of 10.0.0.1:80' });
  await weight.fill('7');
  await weight.press('Enter');
  await expectShown(app.getByText(/generation 1/));
  await app.getByRole('button', { name: 'Drain 10.0.0.1:80' }).click();
  const undrain = app.getByRole('button', { name: 'Undrain 10.0.0.1:80' });
  await expectShown(undrain);
  await expectShown(app.getByText('draining'));
  await undrain.click();
  await expectShown(app.getByRole('button', { name: 'Drain 10.0.0.1:80' }));
});
