import { expect, test, vi } from 'vitest';
import { oneGateway, type Gateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';

const load = oneGateway({ workers: 2 });

const FAST = { timeout: 10_000, interval: 20 };

/** A peer with a `/health` that responds with a status set by the test. */
interface Target extends TestPeer {
  status: number;
}

async function startTarget(t: Owner, name: string): Promise<Target> {
  const state = { status: 200 };
  const peer = await startPeer(t, name, ({ url }, response) => {
    if (url === '/health') response.statusCode = state.status;
    response.end(name);
  });
  return Object.assign(state, peer);
}

const SHOWN = `
  location /live { health_liveness; }
  location /status { health_status; }
  location /metrics { health_metrics; }
  location /variables {
    return 200 "$health_readiness $health_liveness $health_backend_healthy_count $health_backend_total_count $health_backend_failure_count";
  }
  location /events { worker_events_api; worker_events_zone bus; worker_events_channel health; }`;

const EVENTS = 'health_worker_events_zone bus; health_worker_events_channel health;';

const serviceConf = ({ port }: TestPeer): string =>
  `server {
     location /ready {
       health_readiness; health_probe http://127.0.0.1:${port}/health;
       health_probe_interval 50; health_probe_timeout 300; health_probe_fails 2; health_probe_passes 2;
       ${EVENTS}
     }
     ${SHOWN}
   }`;

const eventually = (check: () => Promise<unknown>): Promise<unknown> => vi.waitFor(check, FAST);

interface HealthStatus {
  readonly status: string;
  readonly probe_last_status: number;
  readonly upstreams: readonly Record<string, unknown>[];
  readonly peers: readonly Record<string, unknown>[];
}

const statusOf = async (gw: Gateway): Promise<HealthStatus> =>
  JSON.parse((await gw.fetch('/status')).body) as HealthStatus;

/** The payloads of the events since this generation. */
async function eventsSince(gw: Gateway, since: number): Promise<readonly Record<string, unknown>[]> {
  const { events } = JSON.parse((await gw.fetch(`/events?since=${since}`)).body) as {
    events: readonly { type: string; channel: string; payload: string }[];
  };
  for (const event of events) expect(event).toMatchObject({ type: 'transition', channel: 'health' });
  return events.map(({ payload }) => JSON.parse(payload) as Record<string, unknown>);
}

const newest = async (gw: Gateway): Promise<number> =>
  (JSON.parse((await gw.fetch('/events')).body) as { newest_generation: number }).newest_generation;

test('a probe of the service decides the readiness, and its changes are events', async (t) => {
  const target = await startTarget(t, 'a');
  const gw = await load(t, serviceConf(target));
  const since = await newest(gw);
  await gw.expect('GET /live', { status: 200, body: '{"status":"alive"}' });
  await eventually(() => gw.expect('GET /ready', { status: 200, body: '{"status":"ready"}' }));
  await eventually(async () =>
    expect(await statusOf(gw)).toMatchObject({
      status: 'healthy',
      probe_healthy: true,
      probe_last_status: 200,
    }),
  );
  expect((await gw.fetch('/variables')).body).toBe('1 1 1 1 0');
  expect(await eventsSince(gw, since)).toEqual([]);

  target.status = 503;
  await eventually(() => gw.expect('GET /ready', { status: 503, body: '{"status":"not_ready"}' }));
  expect((await gw.fetch('/variables')).body).toBe('0 1 0 1 1');
  const { status, headers } = await gw.fetch('/status');
  expect([status, headers.get('content-type')]).toEqual([503, 'application/json']);
  expect(await statusOf(gw)).toMatchObject({ ready: false, probe_healthy: false, probe_last_status: 503 });
  const name = `http://127.0.0.1:${target.port}/health`;
  await gw.waitForLog(new RegExp(`service is unhealthy: the status is 503, probe "${name}" of service`));

  target.status = 200;
  await eventually(() => gw.expect('GET /ready', { status: 200 }));
  expect(await eventsSince(gw, since)).toEqual([
    { scope: 'service', name, healthy: false, status: 503, checked_at_msec: expect.any(Number) },
    { scope: 'service', name, healthy: true, status: 200, checked_at_msec: expect.any(Number) },
  ]);
  await gw.expect('GET /live', { status: 200 });
  await gw.expect('POST /ready', { status: 405 });
});

const backendConf = (a: TestPeer, b: TestPeer, apart: TestPeer): string =>
  `upstream backend {
       server 127.0.0.1:${a.port}; server 127.0.0.1:${b.port};
       health_upstream_probe http://127.0.0.1:${apart.port}/health;
       health_upstream_probe_interval 50ms; health_upstream_probe_timeout 300; health_upstream_probe_fails 1;
       health_upstream_probe_slow_start 600s; health_upstream_probe_passes 1;
       health_upstream_probe_match status=200-299 body=a;
       health_upstream_peer_probe 127.0.0.1:${b.port} http://localhost:${b.port}/health;
     }
     server {
       location / { proxy_pass http://backend; }
       location /notes { ${EVENTS} return 204; }
       ${SHOWN}
     }`;

const NEVER_ILL = { probe_healthy: true, probe_slow_start_elapsed_ms: 0, probe_recovered_at_ms: 0 };

async function servedBy(gw: Gateway): Promise<string> {
  const names = new Set<string>();
  for (let n = 0; n < 6; n++) names.add((await gw.fetch('/')).body);
  return [...names].sort().join(' ');
}

async function expectEvents(gw: Gateway, portOfB: number): Promise<void> {
  const events = (await eventsSince(gw, 0)).filter(({ scope }) => scope !== 'service');
  expect(events.map(({ scope, name, healthy }) => [scope, name, healthy])).toEqual([
    ['peer', `backend/127.0.0.1:${portOfB}`, false],
    ['upstream', 'backend', false],
  ]);
}

function showsUnhealthyUpstream(body: string): void {
  expect(body).toContain('nginz_health_ready{module="healthcheck"} 1\n');
  expect(body).toContain('nginz_health_upstream_probe_healthy{module="healthcheck",upstream="backend"} 0\n');
  expect(body).toMatch(
    /nginz_health_peer_probe_last_status\{module="healthcheck",upstream="backend",peer="[^"]+"/,
  );
}

test('the probe of an upstream is only shown; that of a peer excludes it from requests', async (t) => {
  const [a, b, apart] = await Promise.all(['a', 'b', 'apart'].map((name) => startTarget(t, name)));
  if (!a || !b || !apart) throw new Error('no peers');
  const gw = await load(t, backendConf(a, b, apart));
  // The body of b has no "a", which both probes require.
  await eventually(async () => expect(await servedBy(gw)).toBe('a'));
  await eventually(async () =>
    expect(await statusOf(gw)).toMatchObject({
      status: 'healthy',
      upstreams_summary: { healthy: 1, unhealthy: 0, total: 1 },
      upstreams: [{ name: 'backend', ...NEVER_ILL, probe_last_status: 200 }],
      peers: [
        { upstream: 'backend', peer: `127.0.0.1:${b.port}`, state: 'unhealthy', probe_last_status: 200 },
      ],
    }),
  );
  expect((await gw.fetch('/variables')).body).toBe('1 1 0 1 1');

  apart.status = 500;
  await eventually(async () =>
    expect(await statusOf(gw)).toMatchObject({
      upstreams: [{ probe_healthy: false, probe_last_status: 500 }],
    }),
  );
  expect(await servedBy(gw)).toBe('a');
  await gw.expect('GET /status', { status: 200 });
  const { body } = await gw.fetch('/metrics');
  showsUnhealthyUpstream(body);
  await eventually(() => expectEvents(gw, b.port));

  apart.status = 200;
  const atLeast1 = expect.toSatisfy((value: number) => value > 0) as number;
  const recovered = { probe_slow_start_elapsed_ms: atLeast1, probe_recovered_at_ms: atLeast1 };
  await eventually(async () =>
    expect(await statusOf(gw)).toMatchObject({ upstreams: [{ probe_healthy: true, ...recovered }] }),
  );
});

test('metrics count probes and changes, and show the state of each peer', async (t) => {
  const a = await startTarget(t, 'a');
  const gw = await load(
    t,
    `upstream counted { server 127.0.0.1:${a.port}; health_check uri=/health interval=50ms fails=1; }
     server { location / { proxy_pass http://counted; } location = /all { control_api metrics; } }`,
  );
  const labels = `upstream="counted",peer="127.0.0.1:${a.port}"`;
  const shows = (...lines: readonly string[]): Promise<unknown> =>
    eventually(async () => {
      const { body } = await gw.fetch('/all');
      for (const line of lines) expect(body).toMatch(new RegExp(`^${line}`, 'm'));
    });
  await shows(
    `gw_health_probes_total\\{${labels},result="passed"\\} [1-9]`,
    `gw_health_probe_seconds_count\\{${labels}\\} [1-9]`,
    `gw_upstream_peer_state\\{${labels},state="up"\\} 1$`,
    `gw_upstream_peer_state\\{${labels},state="unhealthy"\\} 0$`,
  );
  a.status = 500;
  await shows(
    `gw_health_probes_total\\{${labels},result="failed"\\} [1-9]`,
    `gw_health_transitions_total\\{${labels},to="unhealthy"\\} 1$`,
    `gw_upstream_peer_state\\{${labels},state="up"\\} 0$`,
    `gw_upstream_peer_state\\{${labels},state="unhealthy"\\} 1$`,
  );
});

test('without probes the service is ready', async (t) => {
  const gw = await load(t, `server { location /ready { health_readiness; } ${SHOWN} }`);
  await gw.expect('GET /ready', { status: 200 });
  await gw.expect('HEAD /ready', { status: 200 });
  expect((await gw.fetch('/variables')).body).toBe('1 1 0 0 0');
  expect(await statusOf(gw)).toMatchObject({
    probe_enabled: false,
    success_rate: 100,
    upstreams: [],
    peers: [],
  });
});
