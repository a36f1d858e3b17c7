import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openMetricsText, wantsOpenMetrics } from '../../../src/modules/control/open-metrics.ts';
import type { MetricFamily } from '../../../src/zone/index.ts';
import { startCollector } from '../../harness/collector.ts';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer } from '../../harness/peer.ts';
import { freePort } from '../../harness/ports.ts';
import { postgres } from '../../harness/postgres.ts';

const TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
const PROMETHEUS_2 =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

const accepts: readonly (readonly [accept: string | undefined, isWanted: boolean])[] = [
  [undefined, false],
  ['*/*', false],
  ['text/plain;version=0.0.4', false],
  ['application/openmetrics-text', true],
  ['Application/OpenMetrics-Text; version="1.0.0"; charset=utf-8', true],
  [PROMETHEUS_2, true],
  ['text/plain;version=0.0.4;q=0.9,application/openmetrics-text;version=1.0.0;q=0.5', false],
  ['application/openmetrics-text;version=0.0.1', false],
  ['application/openmetrics-text;q=0', false],
  ['application/openmetrics-text;q=x', false],
];

test.each(accepts)('a scraper that accepts %j gets OpenMetrics: %j', (accept, isWanted) => {
  expect(wantsOpenMetrics(accept)).toBe(isWanted);
});

const SHOWN_EXEMPLAR = {
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  value: 0.3,
  timeMs: 1_700_000_000_123,
};
const SHOWN: readonly MetricFamily[] = [
  {
    name: 'gw_a_total',
    help: 'Says "a\\b".\n',
    kind: 'counter',
    samples: [{ labels: { l: '"\\\n' }, value: 2 }],
  },
  { name: 'gw_b', help: 'B.', kind: 'untyped', samples: [{ labels: {}, value: 1 }] },
  {
    name: 'gw_h',
    help: 'H.',
    kind: 'histogram',
    samples: [
      {
        labels: { l: 'x' },
        value: 7.5,
        buckets: [0, 1, 0, 2],
        bounds: [0.000_01, 1, 1_048_576],
        exemplars: [undefined, SHOWN_EXEMPLAR, undefined, undefined],
      },
    ],
  },
];

test('OpenMetrics has bare names of counters, canonical bounds, exemplars and an end', () => {
  const text = openMetricsText(SHOWN);
  expect(text).toBe(`# TYPE gw_a counter
# HELP gw_a Says \\"a\\\\b\\".\\n
gw_a_total{l="\\"\\\\\\n"} 2
# TYPE gw_b unknown
# HELP gw_b B.
gw_b 1
# TYPE gw_h histogram
# HELP gw_h H.
gw_h_bucket{l="x",le="1e-05"} 0
gw_h_bucket{l="x",le="1.0"} 1 # {trace_id="${'a'.repeat(32)}",span_id="${'b'.repeat(16)}"} 0.3 1700000000.123
gw_h_bucket{l="x",le="1.048576e+06"} 1
gw_h_bucket{l="x",le="+Inf"} 3
gw_h_count{l="x"} 3
gw_h_sum{l="x"} 7.5
# EOF
`);
});

const load = oneGateway({ workers: 2 });
const EXEMPLAR = / # \{trace_id="([0-9a-f]{32})",span_id="([0-9a-f]{16})"\} \S+ \d+\.\d{3}$/;
const HISTOGRAMS = [
  'gw_http_request_duration_seconds',
  'gw_dbrest_query_seconds',
  'gw_upstream_response_seconds',
];

/** A gateway that has served a traced request of an upstream, and one of a database. */
async function startTraced(t: Owner): Promise<{ readonly gw: Gateway; readonly ids: readonly string[] }> {
  const { dsn } = await postgres('create table items (id int); grant select on items to anon;');
  const collector = await startCollector(t);
  const peer = await startPeer(t, 'ok', (_, response) => response.end('ok'));
  const gw = await load(
    t,
    `otel_exporter { endpoint 127.0.0.1:${collector.port}; protocol http/json; interval 5ms; }
     server {
       otel_trace $http_x_sampled;
       location = /metrics { otel_trace off; control_api metrics; }
       location /up/ { proxy_pass http://127.0.0.1:${peer.port}; }
       location /db/ { dbrest_pass ${dsn}; dbrest_anon_role anon; }
     }`,
  );
  const sampled = { headers: { 'X-Sampled': 'on' } };
  for (const path of ['/up/a', '/db/items']) {
    await gw.expect(`GET ${path}`, { status: 200 });
    await gw.expect(`GET ${path}`, { status: 200 }, sampled);
  }
  const spans = await collector.waitForSpans(2);
  return { gw, ids: spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`) };
}

const openPage = async (gw: Gateway): Promise<string> => {
  const { status, headers, body } = await gw.fetch('/metrics', { headers: { Accept: PROMETHEUS_2 } });
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe(TYPE);
  expect(headers.get('vary')).toBe('Accept');
  return body;
};

/** Reads the page strictly: each family once, with samples of its own names only. Returns the types by name. */
function familiesIn(page: string): ReadonlyMap<string, string> {
  const ends: Readonly<Record<string, readonly string[]>> = {
    counter: ['_total'],
    gauge: [''],
    unknown: [''],
    histogram: ['_bucket', '_count', '_sum'],
  };
  const types = new Map<string, string>();
  let allowed: readonly string[] = [];
  expect(page.endsWith('\n# EOF\n')).toBe(true);
  for (const line of page.split('\n').slice(0, -2)) {
    const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== '') {
      expect(types.has(name), name).toBe(false);
      types.set(name, type);
      allowed = (ends[type] ?? []).map((end) => name + end);
    } else if (!line.startsWith('# HELP ')) expect(allowed, line).toContain(/^[\w:]+/.exec(line)?.[0]);
    if (line.includes(' # {')) expect(line).toMatch(EXEMPLAR);
  }
  return types;
}

test('the page shows the latest sampled trace of each bucket, and the text format none', async (t) => {
  const { gw, ids } = await startTraced(t);
  const page = await openPage(gw);
  const families = familiesIn(page);
  expect(families.get('gw_http_requests')).toBe('counter');
  for (const name of HISTOGRAMS) {
    expect(families.get(name)).toBe('histogram');
    const shown = page.split('\n').filter((line) => line.startsWith(`${name}_bucket`) && EXEMPLAR.test(line));
    expect(shown.length, name).toBeGreaterThan(0);
    for (const line of shown) {
      const [, traceId, spanId] = EXEMPLAR.exec(line) ?? [];
      expect(ids).toContain(`${traceId} ${spanId}`);
    }
  }
  // Names of families and samples must not be mistaken for each other.
  for (const name of families.keys())
    for (const end of ['_total', '_created', '_bucket', '_count', '_sum'])
      if (name.endsWith(end)) expect(families.has(name.slice(0, -end.length)), name).toBe(false);
  const { headers, body } = await gw.fetch('/metrics');
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(body).not.toContain(' # {');
});

const hasPrometheus = spawnSync('prometheus', ['--version']).error === undefined;

/** Starts Prometheus, which scrapes a gateway; resolves with the address of its API. */
async function startPrometheus(t: Owner, gateway: number): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-prometheus-'));
  const port = await freePort();
  const config = join(dir, 'prometheus.yml');
  const scrape = `scrape_interval: 200ms, scrape_timeout: 200ms, static_configs: [{ targets: ['127.0.0.1:${gateway}'] }]`;
  writeFileSync(config, `scrape_configs: [{ job_name: gw, ${scrape} }]\n`);
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${dir}/data`,
    '--enable-feature=exemplar-storage',
  ];
  const child = spawn('prometheus', [...args, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  t.onTestFinished(async () => {
    child.kill('SIGTERM');
    await exited;
    rmSync(dir, { recursive: true, force: true });
  });
  return `http://127.0.0.1:${port}/api/v1`;
}

test.skipIf(!hasPrometheus)(
  'Prometheus scrapes the page, and finds the exemplars',
  { timeout: 60_000 },
  async (t) => {
    const { gw, ids } = await startTraced(t);
    const api = await startPrometheus(t, gw.port);
    const ask = async (path: string): Promise<unknown> => {
      const response = await fetch(`${api}/${path}`);
      return ((await response.json()) as { data: unknown }).data;
    };
    interface Found {
      readonly seriesLabels: { readonly __name__: string };
      readonly exemplars: readonly { readonly labels: Record<string, string> }[];
    }
    const now = Date.now() / 1000;
    const query = encodeURIComponent('{__name__=~"gw_.+_seconds_bucket"}');
    const found = await vi.waitFor(
      async () => {
        const list = (await ask(
          `query_exemplars?query=${query}&start=${now - 600}&end=${now + 600}`,
        )) as Found[];
        const names = new Set(list.map(({ seriesLabels }) => seriesLabels.__name__));
        expect([...names].toSorted()).toEqual(HISTOGRAMS.map((name) => `${name}_bucket`).toSorted());
        return list;
      },
      { timeout: 50_000, interval: 100 },
    );
    // The gateway may have served another test: its exemplars are there, too.
    const latest = found.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels));
    for (const id of ids)
      expect(latest.map((labels) => `${labels['trace_id']} ${labels['span_id']}`)).toContain(id);
    const { activeTargets } = (await ask('targets')) as {
      activeTargets: { health: string; lastError: string }[];
    };
    expect(activeTargets).toMatchObject([{ health: 'up', lastError: '' }]);
  },
);
