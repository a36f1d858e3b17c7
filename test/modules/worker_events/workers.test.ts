import { Agent, request } from 'node:http';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { endpoint, inspect, publish } from './endpoint.ts';
import { perTier } from '../../harness/tier.ts';

const CONNECTIONS = 32;
const TOTAL = perTier({ short: 1_000, long: 8_000 });

/** Publishes on kept connections, which the kernel spreads over the workers. Returns the generations. */
async function publishMany(port: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const one = (n: number) =>
    new Promise<number>((resolve, reject) => {
      const headers = { 'content-type': 'application/json' };
      const call = request(
        { port, host: '127.0.0.1', path: '/events', method: 'POST', agent, headers },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('end', () => resolve((JSON.parse(text) as { generation: number }).generation));
        },
      );
      call.on('error', reject).end(JSON.stringify({ type: 't', payload: `${n}:${'x'.repeat(n % 500)}` }));
    });
  const lanes = Array.from({ length: CONNECTIONS }, async (_, lane) => {
    const generations: number[] = [];
    for (let n = lane; n < TOTAL; n += CONNECTIONS) generations.push(await one(n));
    return generations;
  });
  const all = (await Promise.all(lanes)).flat();
  agent.destroy();
  return all;
}

for (const workers of [2, 4]) {
  test(`${workers} workers publishing at once give every generation once and count every event`, async (t) => {
    const gw = await startGateway(t, `server { ${endpoint('worker_events_ring_size 256;')} }`, { workers });
    const generations = await publishMany(gw.port);
    expect(generations.toSorted((a, b) => a - b)).toEqual(Array.from({ length: TOTAL }, (_, n) => n + 1));
    const state = await inspect(gw);
    expect(state).toMatchObject({ newest_generation: TOTAL, dropped_events: TOTAL - 256 });
    expect(state.events.map((event) => event.generation)).toEqual(
      Array.from({ length: 256 }, (_, n) => TOTAL - 255 + n),
    );
    for (const { payload } of state.events) {
      const n = Number.parseInt(payload ?? '', 10);
      expect(payload).toBe(`${n}:${'x'.repeat(n % 500)}`);
    }
  });
}

test('a reload keeps the ring while its size stays, and starts a new one when it changes', async (t) => {
  const conf = (size: number, more = '') =>
    `server { ${endpoint(`worker_events_ring_size ${size};${more}`)} }`;
  const gw = await startGateway(t, conf(16), { workers: 2 });
  for (const type of ['a', 'b']) await publish(gw, { type });

  expect(await gw.reload(conf(16, 'worker_events_stream off;'))).toBe('done');
  expect((await inspect(gw)).events.map((event) => event.type)).toEqual(['a', 'b']);
  expect((await publish(gw, { type: 'c' })).body).toContain('"generation":3');

  expect(await gw.reload(conf(8))).toBe('done');
  expect(await inspect(gw)).toMatchObject({ capacity: 8, newest_generation: 0, events: [] });
  expect((await publish(gw, { type: 'd' })).body).toContain('"generation":1');
});

test('a refused reload keeps the ring', async (t) => {
  const gw = await startGateway(t, `server { ${endpoint()} }`, { expectAlerts: true });
  await publish(gw, { type: 'a' });
  expect(await gw.reload('server { location / { worker_events_api; } }')).toBe('refused');
  expect((await publish(gw, { type: 'b' })).body).toContain('"generation":2');
});

test('locations and servers that name one zone share the ring and its generations', async (t) => {
  const other = 'location /b { worker_events_api; worker_events_zone bus; worker_events_channel b; }';
  const gw = await startGateway(
    t,
    `server { ${endpoint()} ${other} } server { server_name two; ${endpoint('', '/two')} }`,
  );
  await publish(gw, { type: 'a' });
  await publish(gw, { type: 'b' }, { path: '/b' });
  await publish(gw, { type: 'c' }, { path: '/two', headers: { host: 'two' } });
  const { events } = await inspect(gw, '/b?channel=');
  expect(events.map(({ generation, channel }) => [generation, channel])).toEqual([
    [1, 'cache.invalidate'],
    [2, 'b'],
    [3, 'cache.invalidate'],
  ]);
});
