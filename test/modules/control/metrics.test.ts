import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { sabotage, SABOTAGED } from '../../master/saboteur.ts';
import type { Scrape } from './prometheus-text.ts';
import { eventually, scrape, sumOf } from './scrapes.ts';

// A gateway may have served other tests: what is counted here has a name of its own.
const METRICS = 'location = /metrics { control_api metrics; access_log off; }';
const requestsAt = (location: string) => new RegExp(`^gw_http_requests_total\\{.*location="${location}"`);
const JSON_EVENT = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"type":"t"}' };

const ask = async (gw: Gateway, count: number, path = '/a'): Promise<void> => {
  await Promise.all(Array.from({ length: count }, () => gw.fetch(path)));
};

for (const workers of [1, 2, 4]) {
  test(`${workers} workers count every request exactly once`, async (t) => {
    const path = `/by-${workers}`;
    const http = `server { ${METRICS} location ${path} { return 200 12345; } }`;
    const gw = await startGateway(t, http, { workers, fresh: false });
    await ask(gw, 200, path);
    const metrics = await eventually(gw, (now) => expect(sumOf(now, requestsAt(path))).toBe(200));
    const place = `server="127.0.0.1:${gw.port}",location="${path}"`;
    expect(metrics.get(`gw_http_requests_total{${place},method="GET",code="200"}`)).toBe(200);
    expect(metrics.get(`gw_http_request_duration_seconds_count{${place}}`)).toBe(200);
    expect(metrics.get(`gw_http_response_size_bytes_sum{${place}}`)).toBe(1_000);
    expect(metrics.get(`gw_http_response_size_bytes_bucket{${place},le="64"}`)).toBe(200);
    expect([...metrics.keys()].filter((series) => series.startsWith('gw_worker_heap_bytes'))).toHaveLength(
      workers,
    );
  });
}

test('counts continue after a reload, also for a location that was removed and added again', async (t) => {
  const conf = (more: string) =>
    `server { server_name shop; ${METRICS} location /stays { return 200 ok; } ${more} }`;
  const left = 'location /left { return 404; }';
  const gw = await startGateway(t, conf(left), { workers: 2, fresh: false });
  await ask(gw, 20, '/stays');
  await ask(gw, 10, '/left');
  await eventually(gw, (now) => expect(sumOf(now, requestsAt('/left'))).toBe(10));
  const before = await scrape(gw);
  expect(await gw.reload(conf(''))).toBe('done');
  await ask(gw, 5, '/stays');
  expect(await gw.reload(conf(left))).toBe('done');
  await ask(gw, 1, '/left');
  const countOf = (now: Scrape, path: string, code: number) =>
    now.get(`gw_http_requests_total{server="shop",location="${path}",method="GET",code="${code}"}`);
  const after = await eventually(gw, (now) => {
    expect(countOf(now, '/stays', 200)).toBe(25);
    expect(countOf(now, '/left', 404)).toBe(11);
  });
  for (const [series, value] of before) {
    if (/_total|_count|_bucket|accepted|handled/.test(series))
      expect(after.get(series), series).toBeGreaterThanOrEqual(value);
  }
});

test('requests of workers that a reload adds are counted', async (t) => {
  const http = `server { ${METRICS} location /added { return 200 ok; } }`;
  const gw = await startGateway(t, http, { fresh: false });
  await ask(gw, 10, '/added');
  const from = gw.errorLog().length;
  writeFileSync(gw.conf, readFileSync(gw.conf, 'utf8').replace('worker_processes 1;', 'worker_processes 3;'));
  gw.signal('SIGHUP');
  await gw.waitForLog(/reload done/, from);
  await ask(gw, 50, '/added');
  await eventually(gw, (now) => {
    expect(sumOf(now, requestsAt('/added'))).toBe(60);
    expect(sumOf(now, /^nginx_http_requests_total/)).toBeGreaterThan(60);
    expect([...now.keys()].filter((series) => series.startsWith('gw_worker_heap_bytes'))).toHaveLength(3);
  });
});

test('the counts of a crashed worker are kept, its gauges are removed, and it is counted as replaced', async (t) => {
  const gw = await startGateway(t, `server { ${METRICS} location /a { return 200 ok; } }`, {
    ...SABOTAGED,
    workers: 2,
    expectAlerts: true,
  });
  await ask(gw, 40);
  await eventually(gw, (now) => expect(sumOf(now, requestsAt('/a'))).toBe(40));
  const open = await Promise.all(Array.from({ length: 16 }, () => gw.connect()));
  await eventually(gw, (now) => expect(now.get('nginx_connections_active')).toBe(17));
  sabotage(gw, 'throw');
  const [, crashed] = await gw.waitForLog(/worker (\d+) was started again as worker/);
  for (const connection of open) connection.destroy();
  // A worker that ends closes its port and the connections that it has not accepted yet.
  const heap = `gw_worker_heap_bytes{worker="${crashed}"}`;
  await eventually(gw, (now) => expect(now.has(heap)).toBe(false));
  await ask(gw, 5);
  await eventually(gw, (now) => {
    expect(sumOf(now, requestsAt('/a'))).toBe(45);
    expect(sumOf(now, /^gw_worker_restarts_total/)).toBe(1);
    expect(now.get('nginx_connections_active')).toBe(1);
    expect(now.get('nginx_connections_writing')).toBe(1);
  });
});

test('labels come from the configuration and never from the request', async (t) => {
  const gw = await startGateway(
    t,
    `server { server_name "a"; ${METRICS}
       location = /exact { return 204; }
       location ~* "\\.(gif|p\\"g)$" { return 403; }
       location ^~ /stop { return 418; }
       location /moved { return 301 /x; }
       location @named { return 200 n; }
       location = /named { error_page 404 = @named; return 404; } }`,
  );
  for (const path of ['/exact', '/x.GIF', '/stop', '/moved/away?q=1', '/named', '/nowhere', '/%22else'])
    await gw.fetch(path);
  await gw.fetch('/exact', { method: 'DELETE' });
  await gw.fetch('/exact', { method: 'PROPFIND' });
  const metrics = await eventually(gw, (now) => expect(sumOf(now, /method="other"/)).toBe(1));
  const counted = [...metrics].filter(
    ([series]) => series.startsWith('gw_http_requests_total') && !series.includes('metrics'),
  );
  expect(Object.fromEntries(counted)).toEqual({
    'gw_http_requests_total{server="a",location="= /exact",method="GET",code="204"}': 1,
    'gw_http_requests_total{server="a",location="= /exact",method="DELETE",code="204"}': 1,
    'gw_http_requests_total{server="a",location="~* \\\\.(gif|p\\"g)$",method="GET",code="403"}': 1,
    'gw_http_requests_total{server="a",location="^~ /stop",method="GET",code="4xx"}': 1,
    'gw_http_requests_total{server="a",location="/moved",method="GET",code="301"}': 1,
    'gw_http_requests_total{server="a",location="@named",method="GET",code="200"}': 1,
    'gw_http_requests_total{server="a",location="",method="GET",code="404"}': 2,
    'gw_http_requests_total{server="a",location="= /exact",method="other",code="204"}': 1,
  });
});

test('beyond "metrics_max_series" requests are counted as "other", and none is lost', async (t) => {
  const locations = Array.from({ length: 80 }, (_, i) => `location = /p${i} { return 200; }`);
  const gw = await startGateway(t, `server { ${METRICS} ${locations.join('\n')} }`, {
    main: 'metrics_max_series 100;',
    workers: 2,
  });
  for (let i = 0; i < 80; i++) await gw.fetch(`/p${i}`);
  // All requests but the one for the metrics.
  const metrics = await eventually(gw, (now) => {
    expect(sumOf(now, /^gw_http_requests_total/)).toBe((now.get('nginx_http_requests_total') ?? 0) - 1);
  });
  expect(sumOf(metrics, /^gw_http_requests_total\{.*location="other"/)).toBeGreaterThan(20);
  expect(sumOf(metrics, /^gw_http_requests_total\{.*location="= \/p/)).toBeLessThan(60);
  const named = new Set(
    [...metrics.keys()].map((series) =>
      series.replace(/_(bucket|sum|count)(\{|$)/, '$2').replace(/,?le="[^"]*"/, ''),
    ),
  );
  expect(named.size).toBeLessThan(120);
});

test('requests are not counted by location unless a location shows metrics', async (t) => {
  const without = 'server { location /shown { return 200 ok; } }';
  const gw = await startGateway(t, without);
  await ask(gw, 5, '/shown');
  expect(await gw.reload(`server { ${METRICS} location /shown { return 200 ok; } }`)).toBe('done');
  await ask(gw, 3, '/shown');
  const metrics = await eventually(gw, (now) => expect(sumOf(now, requestsAt('/shown'))).toBe(3));
  expect(metrics.get('nginx_http_requests_total')).toBeGreaterThanOrEqual(9);
});

test('metrics show a refused reload and the next successful one', async (t) => {
  const http = `server { ${METRICS} }`;
  const gw = await startGateway(t, http, { fresh: false });
  const first = await scrape(gw);
  expect(first.get('gw_config_last_reload_successful')).toBe(1);
  expect(await gw.reload(`server { ${METRICS} retrun 200; }`)).toBe('refused');
  const refused = await scrape(gw);
  const loadedAt = 'gw_config_last_reload_success_timestamp_seconds';
  expect(refused.get('gw_config_last_reload_successful')).toBe(0);
  expect(refused.get('gw_check_findings{severity="emerg"}')).toBe(1);
  expect(refused.get(loadedAt)).toBe(first.get(loadedAt));
  expect(await gw.reload(http)).toBe('done');
  const good = await scrape(gw);
  expect(good.get('gw_config_last_reload_successful')).toBe(1);
  expect(good.get('gw_check_findings{severity="emerg"}')).toBe(0);
  expect(good.get(loadedAt)).toBeGreaterThan(first.get(loadedAt) as number);
});

test('every worker shows the contents of rings and flags', async (t) => {
  const gw = await startGateway(
    t,
    `shared_dict_zone zone=feature_flags:1m;
     server { ${METRICS}
       location /events { worker_events_api; worker_events_zone shown; worker_events_channel c; worker_events_ring_size 2; }
       location = /set { control_api flag_set; } }`,
    { workers: 2, fresh: false },
  );
  for (let i = 0; i < 5; i++) await gw.expect('POST /events', { status: 200 }, JSON_EVENT);
  await gw.expect('GET /set?name=new"look', { status: 200 });
  await gw.expect('GET /set?name=old&enabled=off', { status: 200 });
  for (let i = 0; i < 8; i++) {
    const metrics = await scrape(gw);
    expect(metrics.get('gw_events_published_total{zone="shown"}')).toBe(5);
    expect(metrics.get('gw_events_dropped_total{zone="shown"}')).toBe(3);
    expect(metrics.get('gw_flag{name="new\\"look"}')).toBe(1);
    expect(metrics.get('gw_flag{name="old"}')).toBe(0);
  }
});

const promtool = spawnSync('promtool', ['--version']).error === undefined;

test.skipIf(!promtool)('promtool finds no fault in the text', async (t) => {
  const gw = await startGateway(
    t,
    `shared_dict_zone zone=feature_flags:1m; kv_timeout 1s;
     server { location /runtime/ { control_api; }
       location ~ "^/kv\\"x" { kv_pass embedded:kv; kv_key $uri; }
       location /events { worker_events_api; worker_events_zone bus; worker_events_channel c; } }`,
    { workers: 2 },
  );
  await gw.fetch('/runtime/flag/set?name=a%22b');
  await gw.fetch('/kv%22x');
  const { body } = await gw.fetch('/runtime/metrics');
  expect(body).toMatch(/gw_kv_misses_total\{command="get"\} 1/);
  const said = spawnSync('promtool', ['check', 'metrics'], { input: body, encoding: 'utf8' });
  expect(said).toMatchObject({ status: 0, stdout: '', stderr: '' });
});
