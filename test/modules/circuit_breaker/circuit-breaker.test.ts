import { expect, test } from 'vitest';
import { type Gateway, oneGateway, startGateway } from '../../harness/gateway.ts';
import { callOn, openHttp2 } from '../../harness/http2-client.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';

const load = oneGateway({ workers: 2 });

/** Responds with the status in the path, and to `/wait` after a call of `letGo`. */
async function startStatusPeer(t: Owner): Promise<TestPeer & { readonly letGo: () => void }> {
  const waiting: (() => void)[] = [];
  const peer = await startPeer(t, 'peer', (request, response) => {
    if (request.url?.includes('wait') === true) waiting.push(() => response.end('waited'));
    else response.writeHead(Number(/\d{3}/.exec(request.url ?? '')?.[0] ?? 200)).end();
  });
  return { ...peer, letGo: () => waiting.splice(0).forEach((go) => go()) };
}

async function statuses(gw: Gateway, paths: readonly string[]): Promise<readonly number[]> {
  const found: number[] = [];
  for (const path of paths) found.push((await gw.fetch(path)).status);
  return found;
}

/** A separate location for each test, since a circuit is kept across reloads. */
const conf = (name: string, port: number, more = ''): string =>
  `server { server_name ${name}; location / { circuit_breaker_threshold 2; circuit_breaker_timeout 10m;
     proxy_pass http://127.0.0.1:${port}; ${more} } }`;

const cases = [
  { it: 'opens after failures in a row', paths: ['500', '502', '200'], statuses: [500, 502, 503], asked: 2 },
  {
    it: 'stays closed if a request succeeds between failures',
    paths: ['500', '200', '500', '200', '500'],
    statuses: [500, 200, 500, 200, 500],
    asked: 5,
  },
  {
    it: 'counts no status below 500 as a failure',
    paths: ['404', '404', '429', '200'],
    statuses: [404, 404, 429, 200],
    asked: 4,
  },
  {
    it: 'counts a failed try as a success if another peer serves the request',
    more: 'proxy_next_upstream error timeout http_500;',
    paths: ['500', '404', '500', '404'],
    statuses: [500, 404, 500, 404],
    asked: 4,
  },
];
for (const [index, { it, more, paths, statuses: expected, asked }] of cases.entries()) {
  test(`a circuit ${it}`, async (t) => {
    const peer = await startStatusPeer(t);
    const gw = await load(t, conf(`case${index}`, peer.port, more));
    expect(
      await statuses(
        gw,
        paths.map((path) => `/${path}`),
      ),
    ).toEqual(expected);
    expect(peer.requests).toHaveLength(asked);
  });
}

test('a circuit counts an upstream that does not respond, and responses of its own location', async (t) => {
  const peer = await startStatusPeer(t);
  await peer.die();
  const gw = await load(
    t,
    `${conf('dead', peer.port)}
     server { server_name own; location / { circuit_breaker_threshold 2; try_files /none =500; } }`,
  );
  expect(await statuses(gw, ['/', '/', '/'])).toEqual([502, 502, 503]);
  const own = { headers: { host: 'own' } };
  for (const status of [500, 500, 503]) await gw.expect('GET /', { status }, own);
});

test('a circuit counts failures that an error page of another location hides', async (t) => {
  const peer = await startStatusPeer(t);
  const more =
    'proxy_intercept_errors on; error_page 500 =200 /page; location /page { circuit_breaker_threshold 9; return 200; }';
  const gw = await load(t, conf('hidden', peer.port, more));
  expect(await statuses(gw, ['/500', '/500'])).toEqual([200, 200]);
  // The circuit records the outcome when the request has ended.
  await expect.poll(async () => (await gw.fetch('/500')).status).toBe(503);
});

test('an open circuit is half open after its time, closes after successes, and opens again after a failure', async (t) => {
  const peer = await startStatusPeer(t);
  const gw = await load(
    t,
    `server { server_name turns; add_header X-State $ngz_circuit_state always; error_page 503 = @open;
       location @open { return 503 $ngz_circuit_admission; }
       location / { circuit_breaker_threshold 1; circuit_breaker_timeout 300; circuit_breaker_success_threshold 2;
         proxy_pass http://127.0.0.1:${peer.port}; location = /state { return 200 $ngz_circuit_state; } } }`,
  );
  const isState = (state: string) =>
    expect.poll(async () => (await gw.fetch('/state')).body, { timeout: 5000, interval: 20 }).toBe(state);
  await gw.expect('GET /state', { body: 'closed' });
  await gw.expect('GET /500', { status: 500 });
  await isState('half_open');
  await gw.expect('GET /500', { status: 500 });
  await isState('half_open');
  expect(await statuses(gw, ['/200'])).toEqual([200]);
  await gw.expect('GET /state', { body: 'half_open' });
  expect(await statuses(gw, ['/200'])).toEqual([200]);
  await gw.expect('GET /state', { body: 'closed' });
  await gw.waitForLog(/\[warn\] .*the circuit of location "\/" is open, client: /);
  await gw.waitForLog(/\[notice\] .*the circuit of location "\/" is closed/);
});

/** Opens a circuit that is half open at once; its trials then have ten minutes. */
async function startHalfOpen(
  t: Owner,
  more = '',
  beside = '',
): Promise<{ gw: Gateway; peer: Awaited<ReturnType<typeof startStatusPeer>> }> {
  const peer = await startStatusPeer(t);
  const http = (timeout: string): string =>
    `error_page 503 = @open; http2 on; server { server_name half; ${beside} location @open { return 503 $ngz_circuit_admission; }
       location / { circuit_breaker_threshold 1; circuit_breaker_timeout ${timeout};
         circuit_breaker_success_threshold 1; ${more} proxy_pass http://127.0.0.1:${peer.port};
         location = /state { return 200 $ngz_circuit_state; } } }`;
  const gw = await startGateway(t, http('1'), { workers: 4 });
  await gw.expect('GET /500', { status: 500 });
  expect(await gw.reload(http('10m'))).toBe('done');
  return { gw, peer };
}

test('a half open circuit lets one request through at a time, over all workers and HTTP/2', async (t) => {
  const { gw, peer } = await startHalfOpen(t);
  const trial = gw.fetch('/wait');
  await expect.poll(() => peer.requests).toContain('GET /wait');
  const session = openHttp2(gw.port);
  const others = Array.from({ length: 12 }, (_, n) =>
    n % 2 === 0 ? gw.fetch('/200') : callOn(session, '/200'),
  );
  for (const { status, body } of await Promise.all(others))
    expect([status, body]).toEqual([503, 'half_open_busy']);
  session.close();
  peer.letGo();
  expect((await trial).body).toBe('waited');
  await expect.poll(async () => (await gw.fetch('/200')).status).toBe(200);
});

test('a trial whose client leaves has no effect, and the next one is admitted', async (t) => {
  const { gw, peer } = await startHalfOpen(t);
  const client = await gw.connect();
  client.write('GET /wait HTTP/1.1\r\nHost: half\r\n\r\n');
  await expect.poll(() => peer.requests).toContain('GET /wait');
  await gw.expect('GET /200', { status: 503, body: 'half_open_busy' });
  client.destroy();
  await expect.poll(async () => (await gw.fetch('/200')).status).toBe(200);
});

/** Requests that are refused before the upstream is asked; their bodies have no length, so they pass the circuit first. */
const refusals = [
  { it: 'too large a body', more: 'client_max_body_size 2;', status: 413 },
  {
    it: 'a page for too large a body',
    more: 'client_max_body_size 2; error_page 413 =200 @page;',
    status: 200,
  },
];
for (const { it, more, status } of refusals) {
  test(`${it} neither closes a half open circuit nor keeps its trial`, async (t) => {
    const { gw } = await startHalfOpen(t, more, 'location @page { return 200 page; }');
    const refused = await gw.raw(
      'POST /200 HTTP/1.1\r\nHost: half\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n',
    );
    expect(refused).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    await gw.expect('GET /state', { body: 'half_open' });
    await gw.expect('GET /200', { status: 200 });
    await gw.expect('GET /state', { body: 'closed' });
  });
}

test('a request that an error page leads back into its location is one trial', async (t) => {
  const { gw } = await startHalfOpen(t, 'proxy_intercept_errors on; error_page 404 =200 /200;');
  await gw.expect('GET /404', { status: 200 });
});
