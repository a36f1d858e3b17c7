import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { eventually, scrape, sumOf } from './scrapes.ts';

const METRICS = 'location = /metrics { control_api metrics; access_log off; }';

/** An upstream whose streams last until the client leaves, and which says yes to every upgrade. */
async function startStreams(t: Owner): Promise<number> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    response.write(': hello\n\n');
  });
  server.on('upgrade', (_, socket) => {
    socket.on('error', () => socket.destroy());
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: soon\r\n\r\n');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** How long streams stay open after their heads: much longer than a head takes. */
const OPEN_MS = 700;

const UPGRADE = { Connection: 'Upgrade', Upgrade: 'soon' };

const streams = [
  { it: 'events of a ring', path: '/events', headers: { Accept: 'text/event-stream' } },
  { it: 'events of an upstream', path: '/proxied', headers: {} },
  { it: 'an upgraded connection', path: '/upgraded', headers: UPGRADE },
];

for (const { it, path, headers } of streams) {
  test(`${it} count until their head`, async (t) => {
    const port = await startStreams(t);
    const gw = await startGateway(
      t,
      `proxy_http_version 1.1; upstream streams { server 127.0.0.1:${port}; }
       server { ${METRICS}
         location = /events { worker_events_api; worker_events_zone latency; worker_events_channel c; }
         location = /proxied { proxy_pass http://streams; }
         location = /upgraded { proxy_pass http://streams; proxy_set_header Upgrade $http_upgrade;
           proxy_set_header Connection upgrade; } }`,
      { main: 'http_engine node;' },
    );
    const began = performance.now();
    const headMs = await new Promise<number>((settle, reject) => {
      const sent = request({ host: '127.0.0.1', port: gw.port, path, headers });
      const seen = (response: IncomingMessage): void => {
        const headMs = performance.now() - began;
        void sleep(OPEN_MS).then(() => {
          response.destroy();
          sent.destroy();
          settle(headMs);
        });
      };
      sent.on('response', seen).on('upgrade', seen).on('error', reject).end();
    });
    const place = `location="= ${path}"`;
    const metrics = await eventually(gw, (now) => {
      expect(sumOf(now, new RegExp(`^gw_http_request_duration_seconds_count\\{.*${place}`))).toBe(1);
    });
    const took = (name: string, label: string) => sumOf(metrics, new RegExp(`^${name}_sum\\{.*${label}`));
    expect(took('gw_http_request_duration_seconds', place)).toBeLessThanOrEqual(headMs / 1000);
    expect(took('gw_upstream_response_seconds', 'upstream="streams"')).toBeLessThanOrEqual(headMs / 1000);
  });
}

test('a response that is no stream counts until its end', async (t) => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain' });
    response.write('first');
    setTimeout(() => response.end('last'), OPEN_MS);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => void server.close());
  const { port } = server.address() as AddressInfo;
  const gw = await startGateway(
    t,
    `server { ${METRICS} location = /slow { proxy_pass http://127.0.0.1:${port}; } }`,
  );
  const response = await new Promise<IncomingMessage>((settle) => {
    get({ host: '127.0.0.1', port: gw.port, path: '/slow' }, settle);
  });
  response.resume();
  await once(response, 'end');
  await eventually(gw, (now) => {
    const sum = sumOf(now, /^gw_http_request_duration_seconds_sum\{.*location="= \/slow"/);
    expect(sum).toBeGreaterThan(OPEN_MS / 2_000);
  });
});

test('times have buckets from 100 microseconds to five minutes, or those of "metrics_buckets"', async (t) => {
  const boundsOf = async (directive: string): Promise<readonly (string | undefined)[]> => {
    const http = `${directive} server { ${METRICS} location = /a { return 200 ok; } }`;
    const gw = await startGateway(t, http, { fresh: true });
    await gw.fetch('/a');
    const metrics = await eventually(gw, (now) => expect(sumOf(now, /location="= \/a"/)).toBeGreaterThan(0));
    return [...metrics.keys()]
      .filter((name) => /^gw_http_request_duration_seconds_bucket\{.*location="= \/a"/.test(name))
      .map((name) => /le="([^"]+)"/.exec(name)?.[1]);
  };
  const usual = await boundsOf('');
  expect(usual).toHaveLength(21);
  expect([usual[0], usual.at(-2), usual.at(-1)]).toEqual(['0.0001', '300', '+Inf']);
  expect(await boundsOf('metrics_buckets 250us 5ms 1s 1m30s;')).toEqual([
    '0.00025',
    '0.005',
    '1',
    '90',
    '+Inf',
  ]);
});

test('"metrics_location" names locations, several by one name, or leaves them out', async (t) => {
  const gw = await startGateway(
    t,
    `server { server_name named; ${METRICS}
       location = /a { metrics_location api; return 200 a; }
       location ~ ^/b(\\d+)$ { metrics_location api; return 200 b; }
       location = /hidden { metrics_location off; return 200 c; }
       location = /own { metrics_location on; return 200 d; } }
     server { server_name quiet; metrics_location off; location / { return 204; }
       location = /told { metrics_location told; return 204; } }`,
  );
  const total = 'nginx_http_requests_total';
  const before = (await scrape(gw)).get(total) ?? 0;
  for (const path of ['/a', '/b1', '/b22', '/hidden', '/hidden', '/own']) await gw.fetch(path);
  for (const path of ['/', '/told']) await gw.fetch(path, { headers: { Host: 'quiet' } });
  const counted = await eventually(gw, (now) => expect(sumOf(now, /location="= \/own"/)).toBeGreaterThan(0));
  expect((counted.get(total) ?? 0) - before).toBeGreaterThanOrEqual(9);
  const series = [...counted].filter(
    ([name]) => name.startsWith('gw_http_requests_total') && !name.includes('metrics'),
  );
  expect(Object.fromEntries(series)).toEqual({
    'gw_http_requests_total{server="named",location="api",method="GET",code="200"}': 3,
    'gw_http_requests_total{server="named",location="= /own",method="GET",code="200"}': 1,
    'gw_http_requests_total{server="quiet",location="told",method="GET",code="204"}': 1,
  });
});

test('requests that were refused are counted by location and by what refused them', async (t) => {
  const gw = await startGateway(
    t,
    `limit_req_zone $uri zone=refused:1m rate=1r/m;
     server { ${METRICS}
       location = /open { return 200 ok; }
       location = /limited { limit_req zone=refused; echo ok; }
       location = /closed { deny all; echo ok; }
       location = /small { client_max_body_size 1; proxy_pass http://127.0.0.1:1; } }`,
  );
  for (const path of ['/open', '/limited', '/limited', '/limited', '/closed']) await gw.fetch(path);
  await gw.fetch('/small', { method: 'POST', body: 'too much' });
  const metrics = await eventually(gw, (now) => expect(sumOf(now, /^gw_http_refused_total/)).toBe(4));
  const refused = [...metrics].filter(([name]) => name.startsWith('gw_http_refused_total'));
  expect(Object.fromEntries(refused)).toEqual({
    'gw_http_refused_total{location="= /limited",by="limit_req"}': 2,
    'gw_http_refused_total{location="= /closed",by="access"}': 1,
    'gw_http_refused_total{location="= /small",by="client_max_body_size"}': 1,
  });
});

test.skipIf(spawnSync('prlimit', ['--version']).status !== 0)(
  'process_max_fds is the limit of the running process, whatever worker_rlimit_nofile asks for',
  async (t) => {
    const gw = await startGateway(t, `server { ${METRICS} }`, {
      main: 'worker_rlimit_nofile 64;',
      fresh: true,
    });
    const limit = (): number =>
      Number(/^Max open files +(\d+)/m.exec(readFileSync(`/proc/${gw.pid}/limits`, 'utf8'))?.[1]);
    // The directive lowers nothing.
    expect(limit()).toBeGreaterThan(64);
    expect((await scrape(gw)).get('process_max_fds')).toBe(limit());
    spawnSync('prlimit', [`--pid=${gw.pid}`, '--nofile=1000:']);
    expect(limit()).toBe(1_000);
    expect((await scrape(gw)).get('process_max_fds')).toBe(1_000);
  },
);

test('the process tells its open files and their limit, each worker its CPU time and restarts from the start', async (t) => {
  const gw = await startGateway(t, `server { ${METRICS} }`, { workers: 2, fresh: true });
  const first = await scrape(gw);
  for (const worker of [1, 2]) {
    expect(first.get(`gw_worker_restarts_total{worker="${worker}"}`)).toBe(0);
    expect(first.has(`gw_worker_cpu_seconds_total{worker="${worker}"}`)).toBe(true);
  }
  const open = first.get('process_open_fds') ?? 0;
  expect(open).toBeGreaterThan(10);
  expect(first.get('process_max_fds')).toBeGreaterThan(open);
  const connections = await Promise.all(Array.from({ length: 40 }, () => gw.connect()));
  await eventually(gw, (now) => expect(now.get('process_open_fds')).toBeGreaterThanOrEqual(open + 30));
  for (const connection of connections) connection.destroy();
  await eventually(gw, (now) => {
    for (const worker of [1, 2])
      expect(now.get(`gw_worker_cpu_seconds_total{worker="${worker}"}`)).toBeGreaterThan(0);
    expect(sumOf(now, /^gw_worker_cpu_seconds_total/)).toBeLessThanOrEqual(
      now.get('process_cpu_seconds_total') ?? 0,
    );
  });
});
