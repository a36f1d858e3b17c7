import { afterAll, beforeAll, expect, test } from 'vitest';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { attributesOf, type Collector, type Reply, startCollector } from '../../harness/collector.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer } from '../../harness/peer.ts';

interface Spoken {
  readonly protocol: 'grpc' | 'http/json' | 'http/protobuf';
  readonly compression?: 'gzip' | 'off';
}

const PROTOCOLS: readonly Spoken[] = [
  { protocol: 'grpc' },
  { protocol: 'grpc', compression: 'off' },
  { protocol: 'http/json' },
  { protocol: 'http/protobuf' },
  { protocol: 'http/protobuf', compression: 'off' },
];

const serverOf = ({ protocol }: Spoken): 'grpc' | 'http' => (protocol === 'grpc' ? 'grpc' : 'http');

function exporter({ port }: Collector, { protocol, compression = 'gzip' }: Spoken, more = ''): string {
  return `otel_exporter { endpoint 127.0.0.1:${port}; protocol ${protocol}; compression ${compression}; interval 20ms;
    header X-Scope-OrgID tenant-1; ${more} }`;
}

const METRICS = 'location = /metrics { otel_trace off; control_api metrics; }';

/** The counters of what became of records. */
async function counted(gw: Gateway, signal = 'traces'): Promise<Readonly<Record<string, number>>> {
  const { body } = await gw.fetch('/metrics');
  const of = (name: string): number =>
    Number(new RegExp(`^gw_otel_${name}_total\\{signal="${signal}"\\} (\\d+)$`, 'm').exec(body)?.[1] ?? 0);
  return { exported: of('exported'), dropped: of('dropped'), failed: of('failed') };
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (await isDone()) return;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  throw new Error('it did not happen');
}

for (const spoken of PROTOCOLS) {
  const { protocol, compression = 'gzip' } = spoken;
  test(`spans arrive over ${protocol}, compression ${compression}`, async (t) => {
    const collector = await startCollector(t, { protocol: serverOf(spoken) });
    const half = 'é'.repeat(1_500);
    const gw = await startGateway(
      t,
      `${exporter(collector, spoken)} otel_trace on; otel_trace_context extract;
       server { location / { set $half "${half}"; otel_span_attr user.text $half$half; return 200; } }`,
    );
    const trace = '0af7651916cd43dd8448eb211c80319c';
    const headers = { traceparent: `00-${trace}-b9c7c989f97918e1-01`, tracestate: 'a=b' };
    await gw.expect('GET /', { status: 200 }, { headers });
    const [span] = await collector.waitForSpans(1);
    expect(span).toMatchObject({
      name: '/',
      kind: 2,
      traceId: trace,
      parentSpanId: 'b9c7c989f97918e1',
      traceState: 'a=b',
    });
    expect(BigInt(span!.endTimeUnixNano) - BigInt(span!.startTimeUnixNano)).toBeGreaterThanOrEqual(0n);
    expect(Number(span!.startTimeUnixNano.slice(0, -6))).toBeGreaterThan(Date.now() - 60_000);
    expect(span?.attributes['user.text']).toBe('é'.repeat(2_048));
    const [first] = collector.exports;
    expect(first?.headers['x-scope-orgid']).toBe('tenant-1');
    expect(first?.isCompressed).toBe(compression === 'gzip');
    expect(first?.path).toBe(
      protocol === 'grpc' ? '/opentelemetry.proto.collector.trace.v1.TraceService/Export' : '/v1/traces',
    );
  });
}

interface Trouble {
  readonly it: string;
  readonly spoken: Spoken;
  /** The replies in their order; all is taken after them. */
  readonly replies: readonly Reply[];
  readonly after: Readonly<Record<string, number>>;
  readonly says?: RegExp;
}

/** A `google.rpc.Status` whose one detail is a `RetryInfo` with the bytes of a `Duration`. */
function retryDetails(delay: readonly number[]): string {
  const withLength = (tag: number, bytes: readonly number[]): number[] => [tag, bytes.length, ...bytes];
  const type = withLength(0x0a, [...Buffer.from('type.googleapis.com/google.rpc.RetryInfo')]);
  const info = withLength(0x12, withLength(0x0a, delay));
  return Buffer.from([0x08, 8, ...withLength(0x1a, [...type, ...info])]).toString('base64');
}

const JSON_OVER_HTTP: Spoken = { protocol: 'http/json' };
const GRPC: Spoken = { protocol: 'grpc' };
const TAKEN = { exported: 1, dropped: 0, failed: 0 };
const troubles: readonly Trouble[] = [
  ...[429, 502, 503, 504].map((status) => ({
    it: `a ${status} is followed by another try`,
    spoken: JSON_OVER_HTTP,
    replies: [{ status, headers: { 'Retry-After': '0' } }],
    after: TAKEN,
    says: new RegExp(`OTel traces: export failure: the collector responded with status ${status}`),
  })),
  {
    it: 'a 400 is final',
    spoken: JSON_OVER_HTTP,
    replies: [{ status: 400 }],
    after: { exported: 0, dropped: 0, failed: 1 },
    says: /status 400/,
  },
  {
    it: 'a partial success is counted over HTTP',
    spoken: JSON_OVER_HTTP,
    replies: [{ rejected: 1, message: 'too old' }],
    after: { exported: 0, dropped: 0, failed: 1 },
    says: /rejected 1 records: too old/,
  },
  {
    it: 'a partial success is counted in Protocol Buffers',
    spoken: { protocol: 'http/protobuf' },
    replies: [{ rejected: 1, message: 'too old' }],
    after: { exported: 0, dropped: 0, failed: 1 },
    says: /rejected 1 records: too old/,
  },
  {
    it: 'a partial success is counted over gRPC',
    spoken: GRPC,
    replies: [{ rejected: 1, message: 'too old' }],
    after: { exported: 0, dropped: 0, failed: 1 },
    says: /rejected 1 records: too old/,
  },
  {
    it: 'UNAVAILABLE is followed by another try',
    spoken: GRPC,
    replies: [{ grpcStatus: 14, message: 'later' }],
    after: TAKEN,
    says: /gRPC status 14: later/,
  },
  {
    it: 'INVALID_ARGUMENT is final',
    spoken: GRPC,
    replies: [{ grpcStatus: 3, message: 'no' }],
    after: { exported: 0, dropped: 0, failed: 1 },
    says: /gRPC status 3: no/,
  },
  {
    it: 'RESOURCE_EXHAUSTED without a delay is final',
    spoken: GRPC,
    replies: [{ grpcStatus: 8, message: 'quota' }],
    after: { exported: 0, dropped: 0, failed: 1 },
    says: /gRPC status 8/,
  },
  ...[
    { it: 'no delay at all', delay: [] },
    { it: 'a delay of some nanoseconds', delay: [0x10, 0x40] },
  ].map(({ it, delay }) => ({
    it: `RESOURCE_EXHAUSTED with ${it} is followed by another try`,
    spoken: GRPC,
    replies: [{ grpcStatus: 8, headers: { 'grpc-status-details-bin': retryDetails(delay) } }],
    after: TAKEN,
    says: /gRPC status 8/,
  })),
  {
    it: 'a 503 instead of gRPC is followed by another try',
    spoken: GRPC,
    replies: [{ status: 503 }],
    after: TAKEN,
  },
];

for (const { it, spoken, replies, after, says } of troubles) {
  test(it, async (t) => {
    const collector = await startCollector(t, { protocol: serverOf(spoken) });
    collector.reply = (_, nth) => replies[nth] ?? {};
    const gw = await startGateway(
      t,
      `${exporter(collector, spoken)} otel_trace on; server { ${METRICS} location / { return 200; } }`,
    );
    await gw.expect('GET /', { status: 200 });
    await until(async () => {
      const { exported = 0, failed = 0 } = await counted(gw);
      return exported + failed > 0;
    });
    expect(await counted(gw)).toEqual(after);
    if (says) expect(gw.errorLog()).toMatch(says);
    expect(gw.errorLog()).not.toContain('tenant-1');
  });
}

test('a collector that hangs delays no response, and what there is no room for is dropped', async (t) => {
  const collector = await startCollector(t);
  collector.reply = () => ({ status: 'hang' });
  const gw = await startGateway(
    t,
    `${exporter(collector, JSON_OVER_HTTP, 'batch_size 2; batch_count 2;')} otel_trace on;
     server { ${METRICS} location / { return 200; } }`,
    { main: 'error_log logs/error.log notice;', expectAlerts: true, files: { 'logs/x': '' } },
  );
  for (let nth = 0; nth < 10; nth++) await gw.expect('GET /', { status: 200 });
  expect(await counted(gw)).toEqual({ exported: 0, dropped: 6, failed: 0 });
  await collector.stop();
});

test('a collector that was away gets what has waited', async (t) => {
  const collector = await startCollector(t);
  await collector.stop();
  const gw = await startGateway(
    t,
    `${exporter(collector, JSON_OVER_HTTP)} otel_trace on; server { location / { return 200; } }`,
  );
  await gw.expect('GET /', { status: 200 });
  await collector.resume();
  expect(await collector.waitForSpans(1)).toHaveLength(1);
});

test('a collector may listen on a Unix socket', async (t) => {
  const collector = await startCollector(t);
  const directory = mkdtempSync(join(tmpdir(), 'gw-otel-'));
  chmodSync(directory, 0o755);
  const path = join(directory, 'collector');
  const relay = createServer((socket) => {
    const onward = connect(collector.port, '127.0.0.1');
    socket.on('error', () => onward.destroy()).pipe(onward);
    onward.on('error', () => socket.destroy()).pipe(socket);
  });
  relay.listen(path);
  await once(relay, 'listening');
  chmodSync(path, 0o777);
  t.onTestFinished(() => {
    relay.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const gw = await startGateway(
    t,
    `otel_exporter { endpoint unix:${path}; protocol http/json; interval 20ms; }
     otel_trace on; server { location / { return 200; } }`,
  );
  await gw.expect('GET /', { status: 200 });
  await collector.waitForSpans(1);
  const [{ headers, isCompressed } = {}] = collector.exports;
  expect([headers?.host, isCompressed]).toEqual(['localhost', false]);
});

for (const spoken of [JSON_OVER_HTTP, GRPC]) {
  test(`what waits is sent over ${spoken.protocol} when the gateway stops`, async (t) => {
    const collector = await startCollector(t, { protocol: serverOf(spoken) });
    const gw = await startGateway(
      t,
      `${exporter(collector, spoken).replace('interval 20ms', 'interval 1h')} otel_trace on; server { location / { return 200; } }`,
      { fresh: true },
    );
    await gw.expect('GET /', { status: 200 });
    await gw.stop();
    expect(await collector.waitForSpans(1)).toHaveLength(1);
  });
}

test.each(PROTOCOLS.filter(({ compression }) => !compression))(
  'metrics arrive over $protocol',
  async (spoken) => {
    const t: Owner = { onTestFinished: (stop) => void stops.push(stop) };
    const collector = await startCollector(t, { protocol: serverOf(spoken) });
    const gw = await startGateway(
      t,
      `${exporter(collector, spoken)} otel_metrics on; server { location / { return 200; } }`,
      { fresh: true, workers: 2 },
    );
    for (let nth = 0; nth < 3; nth++) await gw.expect('GET /', { status: 200 });
    await gw.stop();
    await collector.waitFor(() => collector.exports.some(({ signal }) => signal === 'metrics'), 'metrics');
    const all = collector.exports.flatMap(
      ({ message }) => message.resourceMetrics[0].scopeMetrics[0].metrics,
    );
    const requests = all.filter(({ name }) => name === 'gw_http_requests_total').at(-1);
    expect(requests.sum).toMatchObject({ aggregationTemporality: 2, isMonotonic: true });
    const [point] = requests.sum.dataPoints;
    expect(point.asDouble).toBe(3);
    expect(attributesOf(point.attributes)).toMatchObject({ method: 'GET', code: '200', location: '/' });
    const durations = all.filter(({ name }) => name === 'gw_http_request_duration_seconds').at(-1);
    const [{ count, bucketCounts, explicitBounds }] = durations.histogram.dataPoints;
    expect(count).toBe('3');
    expect(bucketCounts).toHaveLength(explicitBounds.length + 1);
  },
);

const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

for (const spoken of PROTOCOLS.filter(({ compression }) => !compression)) {
  test(`log lines arrive over ${spoken.protocol}, with their trace`, async (t) => {
    const collector = await startCollector(t, { protocol: serverOf(spoken) });
    const gw = await startGateway(
      t,
      `${exporter(collector, spoken)} otel_trace on; otel_logs both;
       server { location / { proxy_pass http://127.0.0.1:1; } }`,
    );
    await gw.expect('GET /a?token=planted', { status: 502 });
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- its shape was checked against the protocol
    type LogRecord = any;
    const records = (): LogRecord[] =>
      collector.exports
        .filter(({ signal }) => signal === 'logs')
        .flatMap(({ message }) => message.resourceLogs[0].scopeLogs[0].logRecords);
    const accessRecord = (): LogRecord => records().find(({ body }) => body.kvlistValue);
    const errorRecord = (): LogRecord =>
      records().find(({ body }) => /connect\(\) failed/.test(body.stringValue ?? ''));
    await collector.waitFor(() => accessRecord() !== undefined && errorRecord() !== undefined, 'log records');
    const [span] = await collector.waitForSpans(1);
    const [access, error] = [accessRecord(), errorRecord()];
    expect(attributesOf(access.body.kvlistValue.values)).toMatchObject({
      method: 'GET',
      uri: '/a',
      status: 502,
      query: 'token=***',
    });
    expect(access).toMatchObject({
      severityNumber: 9,
      severityText: 'info',
      traceId: span?.traceId,
      spanId: span?.spanId,
    });
    expect(error).toMatchObject({ severityNumber: 17, severityText: 'error', traceId: span?.traceId });
    expect(JSON.stringify(collector.exports)).not.toContain('planted');
  });
}

for (const spoken of PROTOCOLS.filter(({ compression }) => !compression)) {
  test(`a log line has the ids of a span that was exported before it, over ${spoken.protocol}`, async (t) => {
    const collector = await startCollector(t, { protocol: serverOf(spoken) });
    const gw = await startGateway(
      t,
      `${exporter(collector, spoken)} otel_trace on; log_format ids '$otel_trace_id $otel_span_id';
       access_log ids.log ids; server { location / { return 200; } }`,
    );
    for (let nth = 0; nth < 20; nth++) await gw.expect('GET /', { status: 200 });
    const ids = (await collector.waitForSpans(20)).map(({ traceId, spanId }) => `${traceId} ${spanId}`);
    await expect.poll(() => gw.read('ids.log').split('\n').slice(0, -1)).toEqual(ids);
    for (const one of ids) expect(one).toMatch(/^[0-9a-f]{32} [0-9a-f]{16}$/);
    expect(new Set(ids.flatMap((one) => one.split(' '))).size).toBe(40);
  });
}

test('each try of an upstream has a span, and sends its own id', async (t) => {
  const collector = await startCollector(t);
  const heard: string[] = [];
  const peer = await startPeer(t, 'ok', (request, response) => {
    heard.push(String(request.headers['traceparent']));
    response.statusCode = heard.length === 1 ? 503 : 200;
    response.end();
  });
  const gw = await startGateway(
    t,
    `${exporter(collector, JSON_OVER_HTTP)} otel_trace on; otel_trace_context propagate; otel_child_spans on;
     upstream u { server 127.0.0.1:${peer.port}; server 127.0.0.1:${peer.port} max_conns=100; }
     server { location / { proxy_next_upstream http_503; proxy_pass http://u; } }`,
  );
  await gw.expect('GET /', { status: 200 });
  const spans = await collector.waitForSpans(3);
  const server = spans.find(({ kind }) => kind === 2);
  const tries = spans.filter(({ kind }) => kind === 3);
  expect(heard).toEqual(tries.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`));
  expect(new Set(tries.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([server?.spanId]));
  expect(tries.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([503, 200]);
  expect(tries.map(({ attributes }) => attributes['http.request.resend_count'])).toEqual([undefined, 1]);
});

let certificates: Certificates;
beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
  certificates.authority('other');
  certificates.signed('localhost', 'ca', { names: ['localhost'] });
});
afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

for (const protocol of ['grpc', 'http/protobuf'] as const) {
  for (const trusted of ['ca', 'other']) {
    test.runIf(HAS_OPENSSL)(
      `over TLS, ${protocol} reaches a collector of a trusted authority only: ${trusted}`,
      async (t) => {
        const tls = { cert: certificates.read('localhost.crt'), key: certificates.read('localhost.key') };
        const collector = await startCollector(t, { protocol: serverOf({ protocol }), tls });
        const gw = await startGateway(
          t,
          `otel_exporter { endpoint https://localhost:${collector.port}; protocol ${protocol}; interval 20ms; trusted_certificate ca.crt; }
         otel_trace on; server { location / { return 200; } }`,
          { files: { 'ca.crt': certificates.read(`${trusted}.crt`) } },
        );
        await gw.expect('GET /', { status: 200 });
        if (trusted === 'ca') return void (await collector.waitForSpans(1));
        await until(async () => gw.errorLog().includes('certificate verify error'));
        expect(collector.exports).toEqual([]);
      },
    );
  }
}
