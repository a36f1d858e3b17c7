import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, textOf } from './files.ts';

const RULES = 'conf/deploy/prometheus/alerts.yml';
const DASHBOARD = 'conf/deploy/grafana/gw.json';

/** The labels of each metric that the guide lists. Prometheus itself adds `up`. */
const documented = new Map<string, readonly string[]>([['up', []]]);
/** Their histograms. */
const histograms = new Set<string>();
for (const [, name = '', type, labels = ''] of textOf('conf/guide/metrics.md').matchAll(
  /^\| `(\w+)` *\| *(\w+) *\| *((?:`\w+`(?:, )?)*) *\|/gm,
)) {
  documented.set(name, [...labels.matchAll(/\w+/g)].map(String));
  if (type === 'histogram') histograms.add(name);
}

/** Metrics of parts that the guide is yet to list, as their contract names them. */
const AGREED: Readonly<Record<string, readonly string[]>> = {
  gw_otel_exported_total: ['signal'],
  gw_otel_dropped_total: ['signal'],
  gw_otel_failed_total: ['signal'],
};
for (const [name, labels] of Object.entries(AGREED)) if (!documented.has(name)) documented.set(name, labels);

/** What every metric has: Prometheus adds it. */
const ADDED = ['job', 'instance'];
const KEYWORDS: ReadonlySet<string> = new Set(['or', 'and', 'unless', 'bool', 'offset']);

/** The metrics of an expression of PromQL with the labels that their selectors name, and the labels of its groups. */
function readExpression(expr: string) {
  const groups = [...expr.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  );
  const rest = expr.replaceAll(/\b(?:by|on)\s*\([^)]*\)/g, ' ').replaceAll(/\[[^\]]*\]/g, ' ');
  const metrics = [...rest.matchAll(/([a-zA-Z_:][\w:]*)(\s*\()?(?:\{([^}]*)\})?/g)]
    .filter(([, name = '', call]) => call === undefined && !KEYWORDS.has(name))
    .map(([, name = '', , selector = '']) => ({
      name,
      labels: [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }));
  return { groups, metrics };
}

/** The labels of a metric by the guide; `undefined`: it is not listed. */
function labelsOf(name: string): readonly string[] | undefined {
  const base = name.replace(/_(?:bucket|sum|count)$/, '');
  const isPart = histograms.has(base) && base !== name;
  const labels = documented.get(isPart ? base : name);
  if (!labels || (histograms.has(name) && !isPart)) return undefined;
  return [...labels, ...ADDED, ...(name.endsWith('_bucket') ? ['le'] : [])];
}

/** The faults of an expression: metrics and labels that do not exist. */
function faultsOf(expr: string): readonly string[] {
  const { groups, metrics } = readExpression(expr);
  const known = new Set(metrics.flatMap(({ name }) => labelsOf(name) ?? []));
  return [
    ...metrics.flatMap(({ name, labels }) => {
      const own = labelsOf(name);
      if (!own) return [`no metric ${name}`];
      return labels.filter((label) => !own.includes(label)).map((label) => `no label ${label} of ${name}`);
    }),
    ...groups.filter((label) => !known.has(label)).map((label) => `no label ${label} to group by`),
  ];
}

/** One alert of the rules. */
interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly text: string;
}

const alerts: readonly Alert[] = textOf(RULES)
  .split(/^ +- alert: /m)
  .slice(1)
  .map((text) => ({
    name: text.slice(0, text.indexOf('\n')),
    expr: /^ +expr: (?:\|\n)?([^]*?)\n +(?:for|labels):/m.exec(text)?.[1] ?? '',
    text,
  }));

test('the reader of expressions finds metrics and labels that do not exist', () => {
  expect(faultsOf('sum by (location) (rate(gw_http_requests_total{code=~"5.."}[5m])) > 0')).toEqual([]);
  expect(faultsOf('gw_http_requests{job="a"}')).toEqual(['no metric gw_http_requests']);
  expect(faultsOf('rate(gw_http_requests_total{path="a"}[5m])')).toEqual([
    'no label path of gw_http_requests_total',
  ]);
  expect(faultsOf('sum by (peer, le) (gw_http_request_duration_seconds_bucket)')).toEqual([
    'no label peer to group by',
  ]);
  expect(faultsOf('gw_http_request_duration_seconds')).toEqual([
    'no metric gw_http_request_duration_seconds',
  ]);
});

test('there is an alert for each fault that wakes somebody', () => {
  expect(alerts.map(({ name }) => name)).toEqual([
    'GwDown',
    'GwErrorRate',
    'GwLatencyHigh',
    'GwPoolExhausted',
    'GwDatabaseAway',
    'GwUpstreamDown',
    'GwCertificateExpires',
    'GwJwksStale',
    'GwReloadRefused',
    'GwClusterGap',
    'GwSpansDropped',
    'GwEventLoopLag',
    'GwWorkerRestarts',
    'GwOpenFiles',
  ]);
});

test.each(alerts)('$name asks for metrics and labels that exist, and says what to do', ({ expr, text }) => {
  expect(faultsOf(expr)).toEqual([]);
  expect(text).toMatch(/^ +labels: \{ severity: (?:critical|warning|info) \}$/m);
  expect(text).toMatch(/^ +summary: '.+'$/m);
  expect(text).toMatch(/^ +description: '.+\.'$/m);
  const { groups, metrics } = readExpression(expr);
  const given = groups.length > 0 ? groups : metrics.flatMap(({ name }) => labelsOf(name) ?? []);
  const shown = [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
  expect(shown.filter((label = '') => !given.includes(label))).toEqual([]);
});

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;

test.skipIf(!hasPromtool)('promtool finds no fault in the rules', () => {
  const { status, stderr } = spawnSync('promtool', ['check', 'rules', join(ROOT, RULES)], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

/** The parts of a dashboard of Grafana that are looked at. */
interface Dashboard {
  readonly uid: string;
  readonly templating: { readonly list: readonly { name: string; type: string; definition?: string }[] };
  readonly annotations: { readonly list: readonly { expr: string }[] };
  readonly panels: readonly Panel[];
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { expr: string; legendFormat: string; datasource: { uid: string } }[];
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
}

const dashboard = JSON.parse(textOf(DASHBOARD)) as Dashboard;
const panels = dashboard.panels.filter(({ type }) => type !== 'row');

test('the dashboard has a fixed uid, its data source is a variable, and its panels do not overlap', () => {
  expect(dashboard.uid).toBe('gw-gateway');
  expect(dashboard.templating.list.map(({ name, type }) => `${name}: ${type}`)).toEqual([
    'datasource: datasource',
    'job: query',
    'instance: query',
  ]);
  const sources = panels.flatMap(({ datasource, targets = [] }) => [
    datasource,
    ...targets.map((one) => one.datasource),
  ]);
  expect(new Set(sources.map((source) => source?.uid))).toEqual(new Set(['${datasource}']));
  const taken = new Set<string>();
  for (const { gridPos } of dashboard.panels) {
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x} ${y}`)).toBe(false);
        taken.add(`${x} ${y}`);
      }
  }
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  expect(dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toEqual([
    'Requests',
    'Latency',
    'Errors',
    'Upstreams',
    'REST and key-value',
    'Cache',
    'Cluster',
    'Certificates and keys',
    'Process',
  ]);
});

test.each(panels)('the panel "$title" asks for metrics and labels that exist', ({ targets = [] }) => {
  expect(targets.length).toBeGreaterThan(0);
  for (const { expr, legendFormat } of targets) {
    expect(faultsOf(expr.replaceAll('$__rate_interval', '5m'))).toEqual([]);
    const { groups, metrics } = readExpression(expr);
    const given = groups.length > 0 ? groups : metrics.flatMap(({ name }) => labelsOf(name) ?? []);
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
    expect(shown.filter((label = '') => !given.includes(label))).toEqual([]);
  }
});

test('the variables and marks of the dashboard ask for metrics that exist', () => {
  for (const { expr } of dashboard.annotations.list) expect(faultsOf(expr)).toEqual([]);
  const queries = dashboard.templating.list.flatMap(({ definition }) => definition ?? []);
  expect(queries.map((query) => /label_values\((\w+)/.exec(query)?.[1])).toEqual(['nginx_up', 'nginx_up']);
});
