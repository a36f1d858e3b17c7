import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';

const load = oneGateway({ workers: 2 });
const SOON = { timeout: 10_000, interval: 20 };

const confOf = (
  servers: readonly string[],
  check: string,
  { block = '', http = '' }: { block?: string; http?: string } = {},
): string =>
  `${http}
   upstream app { ${servers.map((server) => `server ${server};`).join(' ')} ${check} ${block} }
   server {
     location / { proxy_pass http://app; }
     location = /app { dynamic_upstreams_api; dynamic_upstreams_target app; }
     location = /events { worker_events_api; worker_events_zone bus; worker_events_channel health; }
   }`;

/** A peer with a response to probes that a test can change. */
interface ProbedPeer extends TestPeer {
  readonly address: string;
  respond: (request: IncomingMessage, response: ServerResponse) => void;
}

async function startProbed(t: Owner, name: string): Promise<ProbedPeer> {
  const ok = (_: IncomingMessage, response: ServerResponse): void => void response.end(name);
  const peer = await startPeer(t, name, (request, response) =>
    request.url === '/' || request.url?.startsWith('/hc')
      ? probed.respond(request, response)
      : void response.end(name),
  );
  const probed: ProbedPeer = Object.assign(peer, { address: `127.0.0.1:${peer.port}`, respond: ok });
  return probed;
}

const status =
  (code: number, body = ''): ProbedPeer['respond'] =>
  (_, response) => {
    response.statusCode = code;
    response.end(body);
  };

async function states(gw: Gateway): Promise<readonly string[]> {
  const { body } = await gw.fetch('/app');
  return (JSON.parse(body) as { peers: { state: string }[] }).peers.map(({ state }) => state);
}

const probesOf = ({ requests }: TestPeer, uri = '/'): number =>
  requests.filter((line) => line === `GET ${uri}`).length;

async function startProcess(t: Owner): Promise<{ readonly child: ChildProcess; readonly address: string }> {
  const code = `require('node:http').createServer((_, response) => response.end('p'))
    .listen(0, '127.0.0.1', function () { console.log(this.address().port); })`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.onTestFinished(async () => void child.kill('SIGKILL'));
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, address: `127.0.0.1:${String(port).trim()}` };
}

test('a killed peer is out after its failed probes, and a member that is added is probed', async (t) => {
  const [a, b] = [await startProbed(t, 'a'), await startProbed(t, 'b')];
  const { child, address } = await startProcess(t);
  const gw = await load(
    t,
    confOf([a.address, address], 'health_check interval=50ms;', { block: 'dynamic_upstreams_managed;' }),
  );
  child.kill('SIGKILL');
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'unhealthy']);
  b.respond = status(500);
  const peers = [{ address: a.address }, { address: b.address }];
  await gw.expect(
    'PUT /app',
    { status: 200 },
    {
      body: JSON.stringify({ peers }),
      headers: { 'Content-Type': 'application/json' },
    },
  );
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'unhealthy']);
  await gw.expect(
    'PUT /app',
    { status: 503 },
    {
      body: JSON.stringify({ peers: [{ address: b.address }] }),
      headers: { 'Content-Type': 'application/json' },
    },
  );
});

test('a peer that its own probe finds unhealthy is shown as such, also if it was added before', async (t) => {
  const [a, b] = [await startProbed(t, 'a'), await startProbed(t, 'b')];
  b.respond = status(500);
  const probes = [a, b].map(({ address }) => `health_upstream_peer_probe ${address} http://${address}/hc;`);
  const check = `health_upstream_probe_interval 50ms; health_upstream_probe_fails 1; ${probes.join(' ')}`;
  const gw = await load(t, confOf([a.address], check, { block: 'dynamic_upstreams_managed;' }));
  expect(await states(gw)).toEqual(['up']);
  const peers = [a, b].map(({ address }) => ({ address }));
  const headers = { 'Content-Type': 'application/json' };
  await gw.expect('PUT /app', { status: 200 }, { body: JSON.stringify({ peers }), headers });
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'unhealthy']);
  const body = JSON.stringify({ drain: b.address });
  await gw.expect('PATCH /app', { status: 200 }, { body, headers });
  expect(await states(gw)).toEqual(['up', 'unhealthy']);
});

test('the events of an http block are changes of health, and none is published at the start', async (t) => {
  const a = await startProbed(t, 'a');
  const http = 'health_worker_events_zone bus; health_worker_events_channel health;';
  const gw = await load(t, confOf([a.address], 'health_check interval=50ms;', { http }));
  await expect.poll(() => probesOf(a), SOON).toBeGreaterThan(3);
  a.respond = status(503);
  await expect.poll(() => states(gw), SOON).toEqual(['unhealthy']);
  a.respond = status(200);
  await expect.poll(() => states(gw), SOON).toEqual(['up']);
  const { body } = await gw.fetch('/events');
  const { events } = JSON.parse(body) as { events: { type: string; payload: string }[] };
  expect(events.map(({ type }) => type)).toEqual(['transition', 'transition']);
  const name = `app/${a.address}`;
  expect(events.map(({ payload }) => JSON.parse(payload) as unknown)).toMatchObject([
    { scope: 'peer', name, healthy: false, status: 503 },
    { scope: 'peer', name, healthy: true, status: 200 },
  ]);
});
