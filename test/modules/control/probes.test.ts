import type { ServerResponse } from 'node:http';
import { expect, test, vi } from 'vitest';
import { oneGateway, startGateway, type Gateway } from '../../harness/gateway.ts';
import { startPeer } from '../../harness/peer.ts';
import { postgres } from '../../harness/postgres.ts';
import { redis } from '../../harness/redis.ts';

const load = oneGateway();

const PROBES = `location = /live { control_api live; } location = /ready { control_api ready; }`;

interface Health {
  readonly status: string;
  readonly checks: Readonly<Record<string, readonly { status: string; output?: string }[]>>;
}

const ready = async (gw: Gateway): Promise<{ status: number; health: Health }> => {
  const { status, headers, body } = await gw.fetch('/ready');
  expect(headers.get('content-type')).toBe('application/health+json');
  expect(headers.get('cache-control')).toBe('no-store');
  return { status, health: JSON.parse(body) as Health };
};

/** Resolves when the response to the probe has this status. */
const becomes = (gw: Gateway, wanted: number): Promise<Health> =>
  vi.waitFor(
    async () => {
      const { status, health } = await ready(gw);
      expect(status).toBe(wanted);
      return health;
    },
    { timeout: 10_000, interval: 50 },
  );

test('a gateway without stores is live and ready', async (t) => {
  const gw = await load(t, `server { ${PROBES} }`);
  await gw.expect('GET /live', { status: 200, json: { status: 'pass', checks: {} } });
  await gw.expect('GET /ready', {
    status: 200,
    json: { status: 'pass', checks: { gateway: [{ status: 'pass' }] } },
  });
  await gw.expect('HEAD /ready', { status: 200, body: '' });
  await gw.expect('POST /ready', { status: 405 });
});

test('readiness follows a store that goes away and comes back; liveness does not', async (t) => {
  const store = await redis('--maxclients', '100');
  const gw = await startGateway(
    t,
    `server { ${PROBES} location /kv { kv_pass 127.0.0.1:${store.port}; kv_key $uri; } location /own { kv_pass embedded:data/kv; } }`,
    { workers: 2, fresh: false },
  );
  const name = `kv:127.0.0.1:${store.port}`;
  expect((await becomes(gw, 200)).checks).toEqual({
    gateway: [{ status: 'pass' }],
    [name]: [{ status: 'pass' }],
    'kv:embedded:kv': [{ status: 'pass' }],
  });
  await store.stop();
  const failing = await becomes(gw, 503);
  expect(failing).toMatchObject({
    status: 'fail',
    checks: { [name]: [{ status: 'fail', output: 'not connected' }] },
  });
  await gw.expect('GET /live', { status: 200 });
  await store.start();
  await becomes(gw, 200);
});

test('a store that is optional leaves the gateway ready, with a warning', async (t) => {
  const [needed, spare] = await Promise.all([redis('--maxclients', '122'), redis('--maxclients', '123')]);
  const conf = (optional: string): string =>
    `server { location = /live { control_api live; } location = /ready { control_api ready; ${optional} }
       location /kv { kv_pass 127.0.0.1:${needed.port}; kv_key $uri; }
       location /spare { kv_pass 127.0.0.1:${spare.port}; kv_key $uri; } }`;
  const name = `kv:127.0.0.1:${spare.port}`;
  const gw = await startGateway(t, conf(`control_ready_optional ${name};`), { fresh: false });
  await becomes(gw, 200);
  await spare.stop();
  const warned = { status: 'warn', checks: { [name]: [{ status: 'warn', output: 'not connected' }] } };
  await vi.waitFor(async () => expect((await ready(gw)).health).toMatchObject(warned), { timeout: 10_000 });
  expect((await ready(gw)).status).toBe(200);
  await needed.stop();
  expect(await becomes(gw, 503)).toMatchObject({ ...warned, status: 'fail' });
  expect(await gw.reload(conf('control_ready_optional kv:*;'))).toBe('done');
  expect(await becomes(gw, 200)).toMatchObject({ status: 'warn' });
  expect(await gw.reload(conf(''))).toBe('done');
  expect(await becomes(gw, 503)).toMatchObject({ checks: { [name]: [{ status: 'fail' }] } });
  const from = gw.errorLog().length;
  expect(await gw.reload(conf('control_ready_optional kv:typo;'))).toBe('done');
  await gw.waitForLog(/"control_ready_optional": there is no check "kv:typo"; the checks are "kv:127/, from);
});

test('a store that hangs is reported as not ready, in time', async (t) => {
  const store = await redis('--maxclients', '101');
  const gw = await startGateway(
    t,
    `kv_timeout 300ms; server { ${PROBES} location /kv { kv_pass 127.0.0.1:${store.port}; kv_key $uri; } }`,
    { fresh: false },
  );
  await becomes(gw, 200);
  store.signal('SIGSTOP');
  const { checks } = await becomes(gw, 503);
  expect(Object.values(checks).flat()).toContainEqual({ status: 'fail', output: 'no reply in time' });
  store.signal('SIGCONT');
  await becomes(gw, 200);
});

test('many probes query a store once a second at most', async (t) => {
  const store = await redis('--maxclients', '102');
  const gw = await load(
    t,
    `server { ${PROBES} location /kv { kv_pass 127.0.0.1:${store.port}; kv_key $uri; } }`,
  );
  await becomes(gw, 200);
  const pings = async (): Promise<number> => {
    const stats = await store.client.info('commandstats');
    return Number(/cmdstat_ping:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const before = await pings();
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: 100 }, () => ready(gw)));
  const seconds = (performance.now() - startedMs) / 1000;
  expect((await pings()) - before).toBeLessThanOrEqual(1 + Math.ceil(seconds));
});

test('a database that cannot be reached is not ready, and its address stays hidden', async (t) => {
  const { dsn, database, host, port } = await postgres();
  const gw = await load(
    t,
    `server { ${PROBES}
       location /good/ { dbrest_pass ${dsn}; dbrest_anon_role anon; }
       location /bad/ { dbrest_pass postgresql://someone:secretword@127.0.0.1:1/none; dbrest_anon_role anon; } }`,
  );
  const { checks } = await becomes(gw, 503);
  expect(checks).toEqual({
    gateway: [{ status: 'pass' }],
    [`dbrest:${host}:${port}/${database}`]: [{ status: 'pass' }],
    'dbrest:127.0.0.1:1/none': [{ status: 'fail', output: 'not reachable' }],
  });
  expect((await gw.fetch('/ready')).body).not.toMatch(/someone|secretword/);
  expect(
    await gw.reload(`server { ${PROBES} location /good/ { dbrest_pass ${dsn}; dbrest_anon_role anon; } }`),
  ).toBe('done');
  await becomes(gw, 200);
});

test('a probe that is under way during a reload finds the gateway ready', async (t) => {
  const held: ServerResponse[] = [];
  const gate = await startPeer(t, 'gate', (_, response) => void held.push(response));
  const gw = await startGateway(
    t,
    `server { location = /ready { auth_request /gate; control_api ready; } location = /health { auth_request /gate; control_api health; }
      location = /gate { proxy_pass http://127.0.0.1:${gate.port}; } }`,
  );
  const probes = [gw.fetch('/ready'), gw.fetch('/health')];
  await vi.waitFor(() => expect(held).toHaveLength(2));
  expect(await gw.reload(`server { ${PROBES} }`)).toBe('done');
  for (const response of held) response.end();
  expect((await Promise.all(probes)).map(({ status }) => status)).toEqual([200, 200]);
});

test('during "shutdown_delay" the gateway serves, but is not ready', async (t) => {
  const gw = await startGateway(
    t,
    `server { ${PROBES} location /a { return 200 on; } location = /health { control_api health; } }`,
    {
      workers: 2,
      main: 'shutdown_delay 60s;',
    },
  );
  await becomes(gw, 200);
  gw.signal('SIGQUIT');
  const { checks } = await becomes(gw, 503);
  expect(checks).toEqual({ gateway: [{ status: 'fail', output: 'draining' }] });
  for (let i = 0; i < 8; i++) {
    await gw.expect('GET /a', { status: 200, body: 'on' });
    await gw.expect('GET /live', { status: 200 });
    await gw.expect('GET /health', { status: 503 });
  }
  // A fast stop does not wait.
  await gw.stop('SIGTERM');
});

test('a graceful stop begins after "shutdown_delay"', async (t) => {
  const gw = await startGateway(t, `server { ${PROBES} }`, { main: 'shutdown_delay 100ms;' });
  gw.signal('SIGQUIT');
  await gw.ended();
  expect(gw.errorLog()).toMatch(/gracefully shutting down[^]*exit$/m);
});
