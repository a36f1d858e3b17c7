import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test, vi } from 'vitest';
import { oneGateway, type Gateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';

const load = oneGateway();
const loadTwo = oneGateway({ workers: 2 });

const FAST = { timeout: 10_000, interval: 20 };

/** A peer that answers probes of `/health` with a status that a test may change. */
interface ProbedPeer extends TestPeer {
  readonly name: string;
  answer: (request: IncomingMessage, response: ServerResponse) => void;
}

async function startProbed(t: Owner, name: string): Promise<ProbedPeer> {
  const state: Pick<ProbedPeer, 'name' | 'answer'> = { name, answer: (_, response) => response.end('fine') };
  const peer = await startPeer(t, name, (request, response) => {
    if (request.url?.startsWith('/health')) state.answer(request, response);
    else response.end(name);
  });
  return Object.assign(state, peer);
}

const startTwo = (t: Owner): Promise<[ProbedPeer, ProbedPeer]> =>
  Promise.all([startProbed(t, 'a'), startProbed(t, 'b')]);

const failing = (_: IncomingMessage, response: ServerResponse): void => {
  response.statusCode = 503;
  response.end();
};

const CHECK = 'health_check uri=/health interval=50ms timeout=300ms';

const confOf = (
  peers: readonly TestPeer[],
  { check = `${CHECK};`, http = '', server = 'max_fails=0', location = '', more = '' } = {},
): string =>
  `${http}
   upstream u { ${peers.map(({ port }) => `server 127.0.0.1:${port} ${server};`).join(' ')} ${check} }
   server { location / { proxy_pass http://u; ${location} } ${more} }`;

/** The peers that respond to some requests. */
async function served(gw: Gateway, requests = 6): Promise<string> {
  const names = new Set<string>();
  for (let n = 0; n < requests; n++) {
    const { status, body } = await gw.fetch('/');
    names.add(status === 200 ? body : String(status));
  }
  return [...names].sort().join(' ');
}

const serves = (gw: Gateway, names: string): Promise<void> =>
  vi.waitFor(async () => expect(await served(gw)).toBe(names), FAST);

const probesOf = ({ requests }: TestPeer): number =>
  requests.filter((line) => line.startsWith('GET /health')).length;

test('a peer that fails its check gets no requests until it succeeds again, in every worker', async (t) => {
  const [a, b] = await startTwo(t);
  const gw = await loadTwo(t, confOf([a, b]));
  await serves(gw, 'a b');
  b.answer = failing;
  await gw.waitForLog(
    new RegExp(
      `\\[warn\\].*peer is unhealthy: the status is 503, health check "/health" of peer 127.0.0.1:${b.port} in upstream "u"`,
    ),
  );
  expect(await served(gw, 12)).toBe('a');
  b.answer = (_, response) => response.end();
  await gw.waitForLog(
    new RegExp(`\\[notice\\].*peer is healthy, health check "/health" of peer 127.0.0.1:${b.port}`),
  );
  expect(await served(gw, 12)).toBe('a b');
});

test('a peer that refuses connections is unhealthy, and so are all without a live one', async (t) => {
  const [a, b] = await startTwo(t);
  const gw = await load(t, confOf([a, b]));
  await serves(gw, 'a b');
  await b.die();
  await serves(gw, 'a');
  await gw.waitForLog(
    new RegExp(`peer is unhealthy: connect\\(\\) failed \\(111: Connection refused\\).*127.0.0.1:${b.port}`),
  );
  a.answer = failing;
  await serves(gw, '502');
  await gw.waitForLog(/no live upstreams while connecting to upstream/);
  await b.revive();
  await vi.waitFor(async () => expect(await served(gw)).toBe('b'), FAST);
});

test('a peer that hangs is unhealthy and does not delay the probes of others', async (t) => {
  const [a, b] = await startTwo(t);
  const gw = await load(t, confOf([a, b]));
  await serves(gw, 'a b');
  b.answer = () => undefined;
  await gw.waitForLog(new RegExp(`peer is unhealthy: (upstream|the probe) timed out.*127.0.0.1:${b.port}`));
  const [before, hung] = [probesOf(a), probesOf(b)];
  await vi.waitFor(() => expect(probesOf(a)).toBeGreaterThan(before + 20), FAST);
  // One probe at a time: each takes the whole timeout.
  expect(probesOf(b) - hung).toBeLessThan(12);
  expect(await served(gw)).toBe('a');
});

test('thresholds count probes in a row', async (t) => {
  const [a, b] = await startTwo(t);
  const check = `${CHECK} fails=3 passes=3;`;
  const gw = await load(t, confOf([a, b], { check }));
  await serves(gw, 'a b');
  const answers = [500, 500, 200, 500, 500, 200, 500, 500, 500];
  let nth = 0;
  b.answer = (_, response) => {
    response.statusCode = answers[nth++] ?? 500;
    response.end();
  };
  await gw.waitForLog(/peer is unhealthy/);
  expect(nth).toBeGreaterThanOrEqual(answers.length);
  answers.splice(0, Infinity, ...Array.from<number>({ length: nth + 3 }).fill(200), 500, 200, 200, 200);
  await serves(gw, 'a b');
});

const MATCHES = [
  { it: 'accepts a redirect by default', match: undefined, status: 302, healthy: true },
  { it: 'refuses a client error by default', match: undefined, status: 404, healthy: false },
  { it: 'compares the status', match: 'status 200 301-303;', status: 302, healthy: true },
  { it: 'compares the status with ranges', match: 'status 200 301-303;', status: 304, healthy: false },
  { it: 'excludes statuses', match: 'status ! 500-599;', status: 404, healthy: true },
  { it: 'excludes statuses in ranges', match: 'status ! 500-599;', status: 503, healthy: false },
  { it: 'requires a header', match: 'header X-Role;', status: 200, healthy: true },
  { it: 'requires a missing header', match: 'header X-Other;', status: 200, healthy: false },
  { it: 'excludes a header', match: 'header ! X-Role;', status: 200, healthy: false },
  { it: 'compares a header', match: 'header X-Role = primary;', status: 200, healthy: true },
  { it: 'excludes a value of a header', match: 'header X-Role != primary;', status: 200, healthy: false },
  { it: 'matches a header', match: 'header X-Role ~ ^prim;', status: 200, healthy: true },
  { it: 'excludes a pattern of a header', match: 'header X-Role !~ ^prim;', status: 200, healthy: false },
  { it: 'matches the body', match: 'body ~ "state=(ok|fine)";', status: 200, healthy: true },
  { it: 'matches the body without case', match: 'body ~* "STATE=(OK|fine)";', status: 200, healthy: true },
  { it: 'matches a header without case', match: 'header X-Role !~* ^PRIM;', status: 200, healthy: false },
  { it: 'does not match the body', match: 'body ~ "state=bad";', status: 200, healthy: false },
  { it: 'excludes a pattern of the body', match: 'body !~ "state=bad";', status: 200, healthy: true },
  { it: 'needs all conditions', match: 'status 200; body ~ nothing;', status: 200, healthy: false },
  {
    it: 'requires variables',
    match: 'require $upstream_http_x_role $upstream_status;',
    status: 200,
    healthy: true,
  },
  {
    it: 'requires a variable that is empty',
    match: 'require $upstream_http_x_none;',
    status: 200,
    healthy: false,
  },
];

for (const { it, match, status, healthy } of MATCHES) {
  test(`a check ${it}`, async (t) => {
    const peer = await startProbed(t, 'a');
    peer.answer = (_, response) => {
      response.writeHead(status, { 'X-Role': 'primary' });
      response.end(`${' '.repeat(2000)}state=ok`);
    };
    const check = `${CHECK} mandatory ${match === undefined ? '' : 'match=m'};`;
    const http = match === undefined ? '' : `match m { ${match} }`;
    const gw = await load(t, confOf([peer], { check, http }));
    await vi.waitFor(() => expect(probesOf(peer)).toBeGreaterThan(1), FAST);
    await serves(gw, healthy ? 'a' : '502');
  });
}

test('a match looks at the first 256 KiB of a body, and at no more', async (t) => {
  const [a, b] = await startTwo(t);
  const answer =
    (at: number): ProbedPeer['answer'] =>
    (_, response) => {
      response.write(`${'.'.repeat(at)}ready`);
      // The response never ends.
      if (at > 262_144) response.write('.'.repeat(100_000));
      else response.end();
    };
  a.answer = answer(262_000);
  b.answer = answer(262_144);
  const gw = await load(
    t,
    confOf([a, b], { check: `${CHECK} mandatory match=m;`, http: 'health_match m { body ~ ready; }' }),
  );
  await serves(gw, 'a');
  expect(probesOf(b)).toBeGreaterThan(0);
});

test('a mandatory check keeps a peer from requests until its first result', async (t) => {
  const [a, b] = await startTwo(t);
  const waiting: ServerResponse[] = [];
  b.answer = (_, response) => void waiting.push(response);
  const check = 'health_check uri=/health interval=50ms timeout=10s mandatory;';
  const gw = await loadTwo(t, confOf([a, b], { check }));
  await vi.waitFor(() => expect(waiting.length).toBe(1), FAST);
  await serves(gw, 'a');
  waiting[0]?.end();
  await serves(gw, 'a b');
});

test('several checks of a group: one that fails suffices', async (t) => {
  const [a, b] = await startTwo(t);
  let status = 200;
  b.answer = ({ url }, response) => {
    response.statusCode = url === '/health/deep' ? status : 200;
    response.end();
  };
  const gw = await load(
    t,
    confOf([a, b], { check: `${CHECK}; ${CHECK.replace('/health', '/health/deep')};` }),
  );
  await serves(gw, 'a b');
  status = 500;
  await serves(gw, 'a');
  status = 200;
  await vi.waitFor(async () => expect(await served(gw)).toBe('a b'), FAST);
});

test('below health_panic, checks are ignored', async (t) => {
  const [a, b] = await startTwo(t);
  const c = await startProbed(t, 'c');
  const gw = await load(t, confOf([a, b, c], { check: `${CHECK}; health_panic 50%;` }));
  await serves(gw, 'a b c');
  a.answer = failing;
  await serves(gw, 'b c');
  b.answer = failing;
  await serves(gw, 'a b c');
  a.answer = (_, response) => response.end();
  await vi.waitFor(async () => expect(await served(gw)).toBe('a c'), FAST);
});

test('a check may use another port', async (t) => {
  const [a, b] = await startTwo(t);
  const gw = await load(t, confOf([a], { check: `${CHECK} port=${b.port};` }));
  await vi.waitFor(() => expect(probesOf(b)).toBeGreaterThan(2), FAST);
  expect(probesOf(a)).toBe(0);
  b.answer = failing;
  await serves(gw, '502');
});

test('the request of a check names the group and closes its connection; with keepalive_time it is kept', async (t) => {
  const [a, b] = await startTwo(t);
  const heads: IncomingMessage[] = [];
  a.answer = (request, response) => {
    heads.push(request);
    response.end();
  };
  await load(t, confOf([a, b]));
  await vi.waitFor(() => expect(heads.length).toBeGreaterThan(2), FAST);
  expect(heads[0]).toMatchObject({ httpVersion: '1.1', headers: { host: 'u', connection: 'close' } });
  expect(a.connections()).toBeGreaterThan(2);

  await load(t, confOf([a, b], { check: `${CHECK} keepalive_time=1m;` }));
  const before = a.connections();
  const seen = heads.length;
  await vi.waitFor(() => expect(heads.length).toBeGreaterThan(seen + 10), FAST);
  expect(a.connections() - before).toBeLessThan(4);
});

test('a check in a location has the headers and timeouts of its requests', async (t) => {
  const [a, b] = await startTwo(t);
  const heads: IncomingMessage[] = [];
  a.answer = (request, response) => {
    heads.push(request);
    response.end();
  };
  const location = `health_check uri=/health interval=50ms; proxy_set_header Host $host:81;
    proxy_set_header X-Via gw; proxy_set_header X-Real-IP $remote_addr; proxy_read_timeout 200ms;`;
  const gw = await load(t, confOf([a, b], { check: '', location }));
  await vi.waitFor(() => expect(probesOf(b)).toBeGreaterThan(0), FAST);
  b.answer = () => undefined;
  await gw.waitForLog(new RegExp(`peer is unhealthy: upstream timed out.*127.0.0.1:${b.port}`));
  await serves(gw, 'a');
  expect(heads[0]?.headers).toEqual({ host: 'u:81', 'x-via': 'gw', connection: 'close' });
});

test('results outlive a reload, and with persistent a peer that was healthy is not checked first', async (t) => {
  const [a, b] = await startTwo(t);
  b.answer = failing;
  const check = 'health_check uri=/health interval=100ms timeout=10s mandatory persistent;';
  const gw = await loadTwo(t, confOf([a, b], { check }));
  await serves(gw, 'a');
  a.answer = b.answer = () => undefined;
  expect(await gw.reload(confOf([a, b], { check, more: 'location /new { return 200; }' }))).toBe('done');
  await gw.expect('GET /new', { status: 200 });
  expect(await served(gw)).toBe('a');
  expect(await gw.reload(confOf([a, b], { check: check.replace('persistent', '') }))).toBe('done');
  await serves(gw, '502');
  expect(await gw.reload(confOf([a, b], { check: '' }))).toBe('done');
  await serves(gw, 'a b');
});

test('a peer that is healthy again has its slow start', async (t) => {
  const [a, b] = await startTwo(t);
  const gw = await load(t, confOf([a, b], { check: `${CHECK} slow_start=1h;` }));
  await serves(gw, 'a b');
  b.answer = failing;
  await serves(gw, 'a');
  b.answer = (_, response) => response.end();
  await gw.waitForLog(/peer is healthy/);
  const own = (): number => b.requests.filter((line) => line === 'GET /').length;
  const before = own();
  await served(gw, 20);
  // A turn may be left from before.
  expect(own() - before).toBeLessThan(2);
});
