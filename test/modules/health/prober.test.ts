import { expect, test, vi } from 'vitest';
import { startGateway, type Gateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';
import { startProgram } from '../../harness/program.ts';
import { sabotage, SABOTAGED } from '../../master/saboteur.ts';

const FAST = { timeout: 15_000, interval: 20 };

/** A peer with the times when its probes arrived, in ms. */
interface TimedPeer extends TestPeer {
  readonly times: readonly number[];
}

async function startTimed(t: Owner, name: string): Promise<TimedPeer> {
  const times: number[] = [];
  const peer = await startPeer(t, name, ({ url }, response) => {
    if (url === '/health') times.push(performance.now());
    response.end(name);
  });
  return { ...peer, times };
}

/** A peer in a separate process, which can be stopped. */
const PEER = `
import { createServer } from 'node:http';
const server = createServer((_, response) => response.end('own'));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

const confOf = (ports: readonly number[], check: string): string =>
  `upstream u { ${ports.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(' ')} ${check} }
   server { location / { proxy_pass http://u; } }`;

async function served(gw: Gateway): Promise<Set<string>> {
  const names = new Set<string>();
  for (let n = 0; n < 8; n++) names.add((await gw.fetch('/')).body);
  return names;
}

// Concurrent, because they wait for probes most of the time.
for (const act of ['throw', 'hang'] as const) {
  test.concurrent(`when a worker ends (${act}), another one probes, and no state changes`, async (t) => {
    const [a, b] = await Promise.all([startTimed(t, 'a'), startTimed(t, 'b')]);
    const dead = await startPeer(t, 'dead');
    await dead.die();
    const ports = [a.port, b.port, dead.port];
    const check = 'health_check uri=/health interval=1s timeout=500ms fails=1;';
    const gw = await startGateway(t, confOf(ports, check), { workers: 3, expectAlerts: true, ...SABOTAGED });
    await gw.waitForLog(/peer is unhealthy/);
    // The worker that probes is one of the three that end.
    for (let n = 0; n < 3; n++) {
      sabotage(gw, act);
      const seen = a.times.length;
      await vi.waitFor(() => expect(a.times.length).toBeGreaterThan(seen + 1), FAST);
    }
    // A worker that hangs is replaced after a while, and resets its connections.
    if (act === 'throw') expect([...(await served(gw))].sort()).toEqual(['a', 'b']);
    expect(gw.errorLog().match(/peer is (?:un)?healthy/g)).toHaveLength(1);
  });
}

test.concurrent('a peer that the kernel has stopped does not change the intervals of others', async (t) => {
  const [a, b] = await Promise.all([startTimed(t, 'a'), startTimed(t, 'b')]);
  const own = await startProgram(t, PEER);
  const port = Number(/\d+/.exec(own.output())?.[0]);
  const check = 'health_check uri=/health interval=200ms timeout=2s;';
  const gw = await startGateway(t, confOf([a.port, port, b.port], check), { workers: 2 });
  await vi.waitFor(() => expect(a.times.length).toBeGreaterThan(3), FAST);
  process.kill(own.pid, 'SIGSTOP');
  const before = [a.times.length, b.times.length] as const;
  await gw.waitForLog(new RegExp(`peer is unhealthy: .*timed out.*127.0.0.1:${port}`));
  await vi.waitFor(() => expect(a.times.length).toBeGreaterThan(before[0] + 20), FAST);
  expect(b.times.length - before[1]).toBeGreaterThan(18);
  expect([...(await served(gw))].sort()).toEqual(['a', 'b']);

  process.kill(own.pid, 'SIGCONT');
  await gw.waitForLog(new RegExp(`peer is healthy.*127.0.0.1:${port}`));
  expect([...(await served(gw))].sort()).toEqual(['a', 'b', 'own']);
  process.kill(own.pid, 'SIGKILL');
  await gw.waitForLog(new RegExp(`peer is unhealthy: .*(refused|reset).*127.0.0.1:${port}`));
  expect([...(await served(gw))].sort()).toEqual(['a', 'b']);
});

test('the probes of many peers are spread over the interval, and only one thread sends them', async (t) => {
  const peers = await Promise.all(Array.from({ length: 5 }, (_, nth) => startTimed(t, `p${nth}`)));
  const ports = peers.map(({ port }) => port);
  await startGateway(t, confOf(ports, 'health_check uri=/health interval=2s;'), { workers: 3 });
  await vi.waitFor(() => expect(peers.every(({ times }) => times.length >= 2)).toBe(true), FAST);
  const firsts = peers.map(({ times }) => times[0] as number).sort((x, y) => x - y);
  const seconds = peers.map(({ times }) => times[1] as number);
  const [first = 0] = firsts;
  // The first probes are spread over most of an interval; a second prober would send some in between.
  expect((firsts.at(-1) as number) - first).toBeGreaterThan((Math.min(...seconds) - first) / 2);
  expect(Math.min(...seconds)).toBeGreaterThan(firsts.at(-1) as number);
});
