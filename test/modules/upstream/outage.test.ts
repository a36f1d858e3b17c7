import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { oneGateway, startGateway, type Gateway } from '../../harness/gateway.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';
import { sabotage, SABOTAGED } from '../../master/saboteur.ts';

const load = oneGateway();
const loadTwo = oneGateway({ workers: 2 });

const FAST = { timeout: 15_000, interval: 20 };

const confOf = (peers: readonly TestPeer[], { server = '', more = '' } = {}): string =>
  `upstream u { ${peers.map(({ port }) => `server 127.0.0.1:${port} ${server};`).join(' ')} keepalive 8; }
   server {
     location / { proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://u; }
     ${more}
   }`;

interface Tally {
  answered: number;
  failed: number;
}

/** Sends requests one after the other until `isOver`. */
async function lane(gw: Gateway, method: string, isOver: () => boolean): Promise<Tally> {
  const tally = { answered: 0, failed: 0 };
  while (!isOver()) {
    const { status } = await gw.fetch('/', { method, ...(method === 'POST' && { body: 'x' }) });
    if (status === 200) tally.answered += 1;
    else tally.failed += 1;
  }
  return tally;
}

const sumOf = (tallies: readonly Tally[], field: keyof Tally): number =>
  tallies.reduce((sum, tally) => sum + tally[field], 0);

test('an upstream killed under load loses only requests that it got and that may not be repeated', async (t) => {
  const slowly = (name: string) =>
    startPeer(t, name, (_, response) => void sleep(2).then(() => response.end(name)));
  const [stays, dies] = await Promise.all([slowly('stays'), slowly('dies')]);
  const gw = await loadTwo(t, confOf([stays, dies], { server: 'fail_timeout=1s' }));
  let over = false;
  const lanes = (method: string, count: number): Promise<Tally[]> =>
    Promise.all(Array.from({ length: count }, () => lane(gw, method, () => over)));
  const [gets, posts] = [lanes('GET', 8), lanes('POST', 4)];

  await vi.waitFor(() => expect(dies.requests.length).toBeGreaterThan(100), FAST);
  const inDanger = dies.open();
  await dies.die();
  const before = stays.requests.length;
  await vi.waitFor(() => expect(stays.requests.length).toBeGreaterThan(before + 200), FAST);
  await dies.revive();
  const seen = dies.requests.length;
  await vi.waitFor(() => expect(dies.requests.length).toBeGreaterThan(seen + 50), FAST);
  over = true;

  expect(sumOf(await gets, 'failed')).toBe(0);
  expect(sumOf(await posts, 'failed')).toBeLessThanOrEqual(inDanger);
  expect(sumOf([...(await gets), ...(await posts)], 'answered')).toBeGreaterThan(400);
});

test('kept connections and the state of a dead peer outlive a reload', async (t) => {
  const [lives, dead] = await Promise.all(['lives', 'dead'].map((name) => startPeer(t, name)));
  if (!lives || !dead) throw new Error('no peers');
  const gw = await load(t, confOf([lives, dead], { server: 'fail_timeout=1h' }));
  await gw.expect('GET /', { body: 'lives' });
  await gw.expect('GET /', { body: 'dead' });
  await dead.die();
  for (let n = 0; n < 4; n++) await gw.expect('GET /', { status: 200, body: 'lives' });
  const connections = lives.connections();
  await dead.revive();

  const more = 'location /new { return 200 new; }';
  expect(await gw.reload(confOf([lives, dead], { server: 'fail_timeout=1h', more }))).toBe('done');
  await gw.expect('GET /new', { body: 'new' });
  for (let n = 0; n < 4; n++) await gw.expect('GET /', { body: 'lives' });
  expect(lives.connections()).toBe(connections);

  expect(await gw.reload(confOf([lives, dead], { server: 'fail_timeout=0', more }))).toBe('done');
  await vi.waitFor(() => gw.expect('GET /', { body: 'dead' }), FAST);
});

test('a peer that failed is tried again after fail_timeout, by one request at a time', async (t) => {
  const [lives, dead] = await Promise.all(['lives', 'dead'].map((name) => startPeer(t, name)));
  if (!lives || !dead) throw new Error('no peers');
  const gw = await loadTwo(t, confOf([lives, dead], { server: 'fail_timeout=1s' }));
  await dead.die();
  for (let n = 0; n < 4; n++) await gw.expect('GET /', { body: 'lives' });
  await dead.revive();
  await vi.waitFor(() => gw.expect('GET /', { body: 'dead' }), FAST);
  await vi.waitFor(async () => {
    const bodies = await Promise.all(Array.from({ length: 4 }, () => gw.fetch('/')));
    expect(new Set(bodies.map(({ body }) => body)).size).toBe(2);
  }, FAST);
});

test('max_conns holds over two workers, and a finished request frees its slot', async (t) => {
  const waiting: (() => void)[] = [];
  const peer = await startPeer(t, 'p', (_, response) => void waiting.push(() => response.end('p')));
  const gw = await loadTwo(t, confOf([peer], { server: 'max_conns=3' }));
  const first = Array.from({ length: 3 }, () => gw.fetch('/'));
  await vi.waitFor(() => expect(waiting).toHaveLength(3), FAST);
  for (let n = 0; n < 6; n++) await gw.expect('GET /', { status: 502 });
  expect(gw.errorLog()).toContain('no live upstreams while connecting to upstream');
  for (const end of waiting.splice(0)) end();
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200, 200]);
  const next = gw.fetch('/');
  await vi.waitFor(() => expect(waiting).toHaveLength(1), FAST);
  waiting[0]?.();
  expect((await next).status).toBe(200);
});

test('least_conn sends requests to the peer that has fewer, in every worker', async (t) => {
  const waiting = { busy: [] as (() => void)[], idle: [] as (() => void)[] };
  let holds = true;
  const holding = (name: keyof typeof waiting) =>
    startPeer(t, name, (_, response) => {
      if (holds) waiting[name].push(() => response.end(name));
      else response.end(name);
    });
  const [busy, idle] = await Promise.all([holding('busy'), holding('idle')]);
  const gw = await loadTwo(t, confOf([busy, idle]).replace('{', '{ least_conn;'));
  const bodies: string[] = [];
  const held = Array.from({ length: 6 }, () => gw.fetch('/').then(({ body }) => bodies.push(body)));
  await vi.waitFor(() => expect([waiting.busy.length, waiting.idle.length]).toEqual([3, 3]), FAST);
  holds = false;
  for (const end of waiting.idle.splice(0)) end();
  await vi.waitFor(() => expect(bodies).toEqual(['idle', 'idle', 'idle']), FAST);
  // Each worker may still count one request that has its response; three requests on the other peer outweigh it.
  for (let n = 0; n < 6; n++) await gw.expect('GET /', { body: 'idle' });
  for (const end of waiting.busy.splice(0)) end();
  await Promise.all(held);
  expect(bodies.slice(3)).toEqual(['busy', 'busy', 'busy']);
});

test('the requests of a worker that died no longer count in max_conns', async (t) => {
  const waiting: (() => void)[] = [];
  const peer = await startPeer(t, 'p', (_, response) => void waiting.push(() => response.end('p')));
  const conf = confOf([peer], { server: 'max_conns=2' });
  const gw = await startGateway(t, conf, { ...SABOTAGED, workers: 1, expectAlerts: true });
  const cut = Array.from({ length: 2 }, () => gw.fetch('/').catch(() => 'cut'));
  await vi.waitFor(() => expect(waiting).toHaveLength(2), FAST);
  await gw.expect('GET /', { status: 502 });
  const from = gw.errorLog().length;
  sabotage(gw, 'throw');
  await gw.waitForLog(/worker 1 was started again/, from);
  expect(await Promise.all(cut)).toEqual(['cut', 'cut']);
  const next = gw.fetch('/');
  await vi.waitFor(() => expect(waiting).toHaveLength(3), FAST);
  waiting[2]?.();
  expect((await next).body).toBe('p');
});

test('a response that breaks off is no failure of its peer, a missing response is one', async (t) => {
  const half = await startPeer(t, 'half', (request, response) => {
    const cut = (): unknown => request.socket.destroy();
    if (request.url === '/silent') cut();
    else response.writeHead(200, { 'content-length': 100 }).write('half', cut);
  });
  const whole = await startPeer(t, 'whole');
  const gw = await load(t, confOf([half, whole], { server: 'fail_timeout=1h' }));
  for (let n = 0; n < 3; n++) {
    await expect(gw.fetch('/')).rejects.toThrow('aborted');
    await gw.expect('GET /', { body: 'whole' });
  }
  await gw.expect('GET /silent', { body: 'whole' });
  for (let n = 0; n < 4; n++) await gw.expect('GET /', { body: 'whole' });
  expect(half.requests).toHaveLength(4);
});
