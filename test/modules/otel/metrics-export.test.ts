import { expect, test } from 'vitest';
import { attributesOf, type ReceivedSpan, startCollector } from '../../harness/collector.ts';
import { startGateway } from '../../harness/gateway.ts';
import { startPeer } from '../../harness/peer.ts';
import { postgres } from '../../harness/postgres.ts';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- its shape was checked against the protocol
type Metric = any;

interface Ends {
  readonly protocol: string;
  readonly dsn: string;
  readonly collector: number;
  readonly peer: number;
}

const confOf = (service: string, { protocol, dsn, collector, peer }: Ends): string => `
      otel_exporter { endpoint 127.0.0.1:${collector}; protocol ${protocol}; interval 5ms; }
      otel_service_name ${service}; otel_metrics on; otel_trace on; shared_dict_zone zone=feature_flags:1m;
      proxy_cache_path cache keys_zone=c:64k;
      server {
        location = /metrics { otel_trace off; control_api metrics; }
        location = /set { otel_trace off; control_api flag_set; }
        location /up/ { proxy_cache c; proxy_pass http://127.0.0.1:${peer}; }
        location /db/ { dbrest_pass ${dsn}; dbrest_anon_role anon; }
        location /kv/ { kv_pass embedded:kv; kv_key $uri; }
      }`;

/** Each histogram of latencies has exemplars, and all of them are of these spans. */
function expectExemplars(exported: readonly Metric[], spans: readonly ReceivedSpan[]): void {
  const ids = spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`);
  const kept = [
    'gw_http_request_duration_seconds',
    'gw_dbrest_query_seconds',
    'gw_upstream_response_seconds',
  ];
  for (const wanted of kept) {
    const { histogram } = exported.find(({ name }) => name === wanted);
    const exemplars = histogram.dataPoints.flatMap((point: Metric) => point.exemplars ?? []);
    expect(exemplars.length, wanted).toBeGreaterThan(0);
    for (const { traceId, spanId, asDouble, timeUnixNano } of exemplars) {
      expect(ids).toContain(`${traceId} ${spanId}`);
      expect(asDouble).toBeGreaterThan(0);
      expect(Number(timeUnixNano)).toBeGreaterThan(1e18);
    }
  }
}

for (const protocol of ['http/json', 'http/protobuf']) {
  test(`an export over ${protocol} has every metric of the page, and exemplars`, async (t) => {
    const { dsn } = await postgres('create table items (id int); grant select on items to anon;');
    const collector = await startCollector(t);
    const peer = await startPeer(t, 'ok', (_, response) => response.end('ok'));
    const conf = (service: string): string =>
      confOf(service, { protocol, dsn, collector: collector.port, peer: peer.port });
    const gw = await startGateway(t, conf('one'), { fresh: true, workers: 2 });
    await gw.expect('GET /set?name=seen', { status: 200 });
    for (const path of ['/up/a', '/db/items', '/kv/a', '/none']) await gw.fetch(path);
    const spans = await collector.waitForSpans(4);
    await collector.waitFor(() => collector.exports.length > 0, 'an export');
    const { body } = await gw.fetch('/metrics');
    const names = Array.from(body.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name);
    // An exporter that a reload replaces sends all metrics once more.
    expect(await gw.reload(conf('two'))).toBe('done');
    const exported = (): Metric[] =>
      collector.exports
        .filter(({ signal }) => signal === 'metrics')
        .flatMap(({ message }) => message.resourceMetrics[0].scopeMetrics[0].metrics);
    await collector.waitFor(() => exported().length > 0, 'metrics');
    await collector.waitFor(() => exported().some(({ name }) => name === names.at(-1)), 'the last metric');
    const missing = names.filter((wanted) => !exported().some(({ name }) => name === wanted));
    expect(missing).toEqual([]);
    const [flag] = exported().find(({ name }) => name === 'gw_flag').gauge.dataPoints;
    expect([attributesOf(flag.attributes), flag.asDouble]).toEqual([{ name: 'seen' }, 1]);
    expectExemplars(exported(), spans);
  });
}
