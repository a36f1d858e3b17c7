import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { type Gateway, oneGateway, startGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';
import { sabotage, SABOTAGED } from '../../master/saboteur.ts';

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
     location = /metrics { control_api metrics; }
     location = /events { worker_events_api; worker_events_zone bus; worker_events_channel health; }
   }`;

/** A peer whose response to probes a test can change. */
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

/** Which peers serve some requests. */
async function served(gw: Gateway, count = 12): Promise<string> {
  const responses = await Promise.all(Array.from({ length: count }, () => gw.fetch('/served')));
  return [...new Set(responses.map(({ body }) => body))].toSorted((a, b) => a.localeCompare(b)).join('');
}

const probesOf = ({ requests }: TestPeer, uri = '/'): number =>
  requests.filter((line) => line === `GET ${uri}`).length;

test('a peer whose probes fail gets no requests from any worker, until they pass again', async (t) => {
  const [a, b] = [await startProbed(t, 'a'), await startProbed(t, 'b')];
  const gw = await load(t, confOf([a.address, b.address], 'health_check interval=50ms uri=/hc;'));
  expect(await served(gw)).toBe('ab');
  b.respond = status(500);
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'unhealthy']);
  expect(await served(gw, 30)).toBe('a');
  b.respond = status(204);
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'up']);
  expect(await served(gw, 30)).toBe('ab');
  expect(gw.errorLog()).toContain(`[warn]`);
  expect(gw.errorLog()).toContain(`peer "${b.address}" of upstream "app" is unhealthy: status 500`);
});

const judged = [
  { it: 'a redirect', match: '', respond: status(302), healthy: true },
  { it: 'a 404', match: '', respond: status(404), healthy: false },
  { it: 'a 404 that is asked for', match: 'status 404;', respond: status(404), healthy: true },
  { it: 'a status in a range', match: 'status 200 400-499;', respond: status(451), healthy: true },
  { it: 'a status that is excluded', match: 'status ! 500-599;', respond: status(503), healthy: false },
  { it: 'a status without a condition', match: 'body ~ fine;', respond: status(500, 'fine'), healthy: true },
  { it: 'a body that matches', match: 'body ~* "F(i)+NE";', respond: status(200, 'fiine'), healthy: true },
  { it: 'a body that does not', match: 'body ~ fine;', respond: status(200, 'ill'), healthy: false },
  { it: 'a body that must not match', match: 'body !~ ill;', respond: status(200, 'ill'), healthy: false },
  { it: 'a header that is there', match: 'header Date;', respond: status(200), healthy: true },
  { it: 'a header that must not be there', match: 'header ! Date;', respond: status(200), healthy: false },
  {
    it: 'a header with a value',
    match: 'header Content-Length = 4;',
    respond: status(200, 'fine'),
    healthy: true,
  },
  {
    it: 'a header with another value',
    match: 'header Content-Length != 4;',
    respond: status(200, 'fine'),
    healthy: false,
  },
  { it: 'a header that matches', match: 'header Date ~ GMT$;', respond: status(200), healthy: true },
  { it: 'a header that must not match', match: 'header Date !~ GMT$;', respond: status(200), healthy: false },
  {
    it: 'one condition of two that fails',
    match: 'status 200; body ~ fine;',
    respond: status(200, 'ill'),
    healthy: false,
  },
] as const;

test('what a good response is', async (t) => {
  const peers = await Promise.all(judged.map(({ it }) => startProbed(t, it)));
  for (const [nth, { respond }] of judged.entries()) (peers[nth] as ProbedPeer).respond = respond;
  const groups = judged.map(({ match }, nth) => {
    const named = match === '' ? '' : `match=m${nth}`;
    return `${match === '' ? '' : `match m${nth} { ${match} }`}
      upstream g${nth} { server ${peers[nth]?.address}; health_check interval=50ms fails=1 mandatory ${named}; }`;
  });
  const locations = judged.map(
    (_, nth) => `location = /g${nth} { dynamic_upstreams_api; dynamic_upstreams_target g${nth}; }`,
  );
  const gw = await load(t, `${groups.join('\n')} server { ${locations.join('\n')} }`);
  for (const [nth, { it, healthy }] of judged.entries()) {
    const state = async (): Promise<unknown> => {
      const { body } = await gw.fetch(`/g${nth}`);
      return [it, (JSON.parse(body) as { peers: { state: string }[] }).peers[0]?.state];
    };
    await expect.poll(state, SOON).toEqual([it, healthy ? 'up' : 'unhealthy']);
  }
});

test('fails and passes count probes in a row', async (t) => {
  const a = await startProbed(t, 'a');
  let nth = 0;
  const pattern = [200, 500, 500, 200, 500, 500, 500, 200, 500, 200, 200];
  const seen: string[] = [];
  const gw = await load(
    t,
    confOf([a.address, '127.0.0.1:1 down'], 'health_check interval=100ms fails=3 passes=2 uri=/hc;'),
  );
  a.respond = (request, response) => {
    const code = pattern[nth++] ?? 200;
    status(code)(request, response);
  };
  await expect
    .poll(async () => {
      const [state = ''] = await states(gw);
      if (seen.at(-1) !== state) seen.push(state);
      return nth;
    }, SOON)
    .toBeGreaterThan(pattern.length);
  expect(seen).toEqual(['up', 'unhealthy', 'up']);
});

test('one worker probes, at its interval', async (t) => {
  const a = await startProbed(t, 'a');
  const gw = await load(t, confOf([a.address], 'health_check interval=200ms;'));
  await expect.poll(() => probesOf(a), SOON).toBeGreaterThan(1);
  const [before, since] = [probesOf(a), performance.now()];
  await expect.poll(() => probesOf(a), SOON).toBeGreaterThan(before + 8);
  const most = (performance.now() - since) / 200 + 2;
  expect(probesOf(a) - before).toBeLessThanOrEqual(most);
  expect(await states(gw)).toEqual(['up']);
});

test('when the worker that probes ends, another one goes on and no state changes', async (t) => {
  const [a, b] = [await startProbed(t, 'a'), await startProbed(t, 'b')];
  b.respond = status(500);
  const conf = confOf([a.address, b.address], 'health_check interval=100ms;');
  const gw = await startGateway(t, conf, { ...SABOTAGED, workers: 2, expectAlerts: true });
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'unhealthy']);
  for (let accident = 0; accident < 3; accident++) {
    const from = gw.errorLog().length;
    sabotage(gw, 'throw');
    await gw.waitForLog(/worker \d was started again/, from);
    const before = probesOf(a);
    await expect.poll(() => probesOf(a), SOON).toBeGreaterThan(before + 2);
    expect(await states(gw)).toEqual(['up', 'unhealthy']);
  }
  expect(gw.errorLog().match(/is unhealthy/g)).toHaveLength(1);
});

test('a mandatory check keeps a peer out until its first result', async (t) => {
  const [a, b] = [await startProbed(t, 'a'), await startProbed(t, 'b')];
  const waiting: ServerResponse[] = [];
  b.respond = (_, response) => void waiting.push(response);
  const check = 'health_check interval=200ms timeout=20s mandatory;';
  const gw = await load(t, confOf([a.address, b.address], check));
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'checking']);
  expect(await served(gw)).toBe('a');
  await expect.poll(() => waiting.length, SOON).toBeGreaterThan(0);
  for (const response of waiting) response.end();
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'up']);
});

for (const { words, expected } of [
  { words: 'mandatory', expected: 'checking' },
  { words: 'mandatory persistent', expected: 'up' },
]) {
  test(`with ${words}, a peer that was healthy before a reload is ${expected} after it`, async (t) => {
    const a = await startProbed(t, 'a');
    const conf = confOf([a.address], `health_check interval=200ms timeout=20s ${words};`);
    const gw = await load(t, conf);
    await expect.poll(() => states(gw), SOON).toEqual(['up']);
    const waiting: ServerResponse[] = [];
    a.respond = (_, response) => void waiting.push(response);
    expect(await gw.reload(conf.replace('location / {', 'location /new { return 204; } location / {'))).toBe(
      'done',
    );
    await gw.expect('GET /new', { status: 204 });
    await expect.poll(() => waiting.length, SOON).toBeGreaterThan(0);
    expect(await states(gw)).toEqual([expected]);
    a.respond = status(200);
    for (const response of waiting) response.end();
    await expect.poll(() => states(gw), SOON).toEqual(['up']);
  });
}

test('one of several checks that fails is enough', async (t) => {
  const a = await startProbed(t, 'a');
  const b = await startProbed(t, 'b');
  const gw = await load(
    t,
    confOf([a.address, b.address], 'health_check interval=50ms; health_check interval=50ms uri=/hc2;'),
  );
  b.respond = ({ url }, response) => status(url === '/hc2' ? 500 : 200)({} as IncomingMessage, response);
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'unhealthy']);
});

test('without a healthy peer the response is 502, and with health_panic the checks are ignored', async (t) => {
  const [a, b] = [await startProbed(t, 'a'), await startProbed(t, 'b')];
  const servers = [a.address, b.address];
  const check = 'health_check interval=50ms fails=1;';
  const gw = await load(t, confOf(servers, check));
  a.respond = b.respond = status(500);
  await expect.poll(() => states(gw), SOON).toEqual(['unhealthy', 'unhealthy']);
  await gw.expect('GET /served', { status: 502 });
  expect(await gw.reload(confOf(servers, check, { block: 'health_panic 50%;' }))).toBe('done');
  await expect.poll(async () => (await gw.fetch('/served')).status, SOON).toBe(200);
  expect(await served(gw)).toBe('ab');
  a.respond = status(200);
  await expect.poll(() => served(gw), SOON).toBe('a');
});

test('a peer that recovers gets its share step by step', async (t) => {
  const [a, b] = [await startProbed(t, 'a'), await startProbed(t, 'b')];
  const gw = await load(t, confOf([a.address, b.address], 'health_check interval=50ms slow_start=1h;'));
  b.respond = status(500);
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'unhealthy']);
  b.respond = status(200);
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'slow_start']);
  expect(await served(gw, 30)).toBe('a');
});

test('a check may use another port, its own Host, and one connection for many probes', async (t) => {
  const seen: IncomingMessage['headers'][] = [];
  const probed = await startProbed(t, 'probed');
  probed.respond = ({ headers }, response) => {
    seen.push(headers);
    response.end();
  };
  await load(t, confOf(['127.0.0.1:1'], `health_check interval=50ms port=${probed.port} keepalive_time=1h;`));
  await expect.poll(() => seen.length, SOON).toBeGreaterThan(5);
  expect(seen[0]).toMatchObject({ host: 'app', 'user-agent': 'gw' });
  expect(probed.connections()).toBeLessThanOrEqual(2);
});

/** A peer as a process of its own, which can be stopped. */
async function startProcess(t: Owner): Promise<{ readonly child: ChildProcess; readonly address: string }> {
  const code = `require('node:http').createServer((_, response) => response.end('p'))
    .listen(0, '127.0.0.1', function () { console.log(this.address().port); })`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.onTestFinished(async () => void child.kill('SIGKILL'));
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, address: `127.0.0.1:${String(port).trim()}` };
}

test('a peer that hangs is unhealthy, and the others are probed as before', async (t) => {
  const a = await startProbed(t, 'a');
  const { child, address } = await startProcess(t);
  const gw = await load(t, confOf([a.address, address], 'health_check interval=100ms timeout=200ms;'));
  expect(await states(gw)).toEqual(['up', 'up']);
  child.kill('SIGSTOP');
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'unhealthy']);
  const [before, since] = [probesOf(a), performance.now()];
  await expect.poll(() => probesOf(a), SOON).toBeGreaterThan(before + 10);
  // Every interval had its probe, though each probe of the other peer takes two.
  expect(performance.now() - since).toBeLessThan(10_000);
  expect(await served(gw)).toBe('a');
  child.kill('SIGCONT');
  await expect.poll(() => states(gw), SOON).toEqual(['up', 'up']);
});

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

test('changes of health are counted and published, none at the start', async (t) => {
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
  const labels = `upstream="app",peer="${a.address}"`;
  const metrics = (await gw.fetch('/metrics')).body;
  expect(metrics).toContain(`gw_health_transitions_total{${labels}} 2`);
  expect(metrics).toMatch(new RegExp(`gw_health_probes_total\\{${labels},result="ok"\\} [1-9]`));
});
