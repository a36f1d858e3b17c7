import { expect, test } from 'vitest';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type Collector, startCollector } from '../../harness/collector.ts';
import { oneGateway, startGateway } from '../../harness/gateway.ts';
import { startHttp2 } from '../../harness/http2-upstream.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer } from '../../harness/peer.ts';
import { startProgram } from '../../harness/scripted-program.ts';

const load = oneGateway();

const PROTOCOLS = ['http/json', 'http/protobuf'] as const;

const exporter = ({ port }: Collector, protocol: string = 'http/json'): string =>
  `otel_exporter { endpoint 127.0.0.1:${port}; protocol ${protocol}; interval 5ms; } otel_trace on;`;

interface Described {
  readonly it: string;
  readonly conf: string;
  readonly target?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, unknown>>;
}

const described: readonly Described[] = [
  {
    it: 'masks credentials in headers',
    conf: 'otel_span_attr own.key $http_authorization;',
    headers: { Authorization: 'Bearer planted' },
    attributes: { 'own.key': '***' },
  },
  {
    it: 'masks secret arguments',
    conf: 'otel_span_attr own.token $arg_token; otel_span_attr own.request "$request";',
    target: '/?token=planted&n=1',
    attributes: { 'own.token': '***', 'own.request': 'GET /?token=***&n=1 HTTP/1.1' },
  },
  {
    it: 'masks secrets in the target',
    conf: '',
    target: '/?password=planted',
    attributes: { 'http.target': '/?password=***' },
  },
  {
    it: 'escapes what JSON has to escape',
    conf: `otel_span_attr own.text '"quotes" \\\\ and\ttabs';`,
    attributes: { 'own.text': '"quotes" \\ and\ttabs' },
  },
  {
    it: 'has the value of this request, not of the one before',
    conf: 'otel_span_attr own.n $arg_n;',
    target: '/?n=second',
    attributes: { 'own.n': 'second', 'http.target': '/?n=second' },
  },
];

for (const protocol of PROTOCOLS) {
  for (const { it, conf, target = '/', headers = {}, attributes } of described) {
    test(`a span over ${protocol} ${it}`, async (t) => {
      const collector = await startCollector(t);
      const gw = await load(
        t,
        `${exporter(collector, protocol)} server { location / { ${conf} return 200; } }`,
      );
      await gw.expect('GET /?n=first', { status: 200 });
      await gw.expect(`GET ${target}`, { status: 200 }, { headers });
      const [, span] = await collector.waitForSpans(2);
      expect(span?.attributes).toMatchObject(attributes);
      expect(JSON.stringify(collector.exports)).not.toContain('planted');
    });
  }

  test(`a span over ${protocol} has 64 attributes, and counts the others`, async (t) => {
    const collector = await startCollector(t);
    const own = Array.from({ length: 70 }, (_, nth) => `otel_span_attr own.${nth} ${nth};`).join(' ');
    const gw = await load(t, `${exporter(collector, protocol)} server { location / { ${own} return 200; } }`);
    await gw.expect('GET /', { status: 200 });
    const [span] = await collector.waitForSpans(1);
    const { attributes = {}, droppedAttributesCount } = span ?? {};
    expect(Object.keys(attributes)).toHaveLength(64);
    expect(droppedAttributesCount).toBeGreaterThan(0);
    expect(attributes['own.0']).toBe('0');
  });

  test(`bytes that are no UTF-8 are replaced over ${protocol}`, async (t) => {
    const collector = await startCollector(t);
    const gw = await load(
      t,
      `${exporter(collector, protocol)} server { location / { otel_span_attr own.text $http_x_own; return 200; } }`,
    );
    const connection = await gw.connect();
    connection.write(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\nX-Own: a\xffb\r\n\r\n', 'latin1'));
    const [span] = await collector.waitForSpans(1);
    connection.destroy();
    expect(span?.attributes['own.text']).toBe('a\ufffdb');
  });
}

test("otel_semconv stable gives attributes OpenTelemetry's stable names", async (t) => {
  const collector = await startCollector(t);
  const gw = await load(
    t,
    `${exporter(collector)} otel_semconv stable; server { server_name localhost; location / { return 503; } }`,
  );
  await gw.expect('GET /a?n=1', { status: 503 }, { headers: { 'User-Agent': 'tester/1' } });
  const [span] = await collector.waitForSpans(1);
  expect(span?.attributes).toMatchObject({
    'http.request.method': 'GET',
    'url.path': '/a',
    'url.query': 'n=1',
    'url.scheme': 'http',
    'network.protocol.version': '1.1',
    'user_agent.original': 'tester/1',
    'http.response.status_code': 503,
    'error.type': '503',
    'server.address': 'localhost',
    'server.port': gw.port,
    'client.address': '127.0.0.1',
    'network.peer.address': '127.0.0.1',
    'http.route': '/',
  });
  expect(Object.keys(span?.attributes ?? {}).filter((name) => name.startsWith('net.'))).toEqual([]);
});

test('a subrequest for authorization and the lookup in a cache have spans', async (t) => {
  const collector = await startCollector(t);
  const peer = await startPeer(t, 'ok', (_, response) => response.end('body'));
  const gw = await load(
    t,
    `${exporter(collector)} otel_child_spans on; proxy_cache_path cache keys_zone=c:64k;
     server {
       location = /auth { internal; return 204; }
       location / { auth_request /auth; proxy_cache c; proxy_cache_valid 1m; proxy_pass http://127.0.0.1:${peer.port}; }
     }`,
  );
  const childrenOf = (nth: number): Record<string, unknown> => {
    const server = collector.spans().filter(({ kind }) => kind === 2)[nth];
    const children = collector.spans().filter(({ parentSpanId }) => parentSpanId === server?.spanId);
    return Object.fromEntries(children.map(({ name, attributes }) => [name, attributes]));
  };
  await gw.expect('GET /', { status: 200 });
  await collector.waitForSpans(4);
  expect(childrenOf(0)).toMatchObject({
    auth_request: { 'http.response.status_code': 204 },
    'cache lookup': { 'gw.cache_status': 'MISS' },
    'http GET': { 'http.response.status_code': 200 },
  });
  await gw.expect('GET /', { status: 200 });
  await collector.waitForSpans(7);
  expect(childrenOf(1)).toMatchObject({ auth_request: {}, 'cache lookup': { 'gw.cache_status': 'HIT' } });
  expect(Object.keys(childrenOf(1))).toHaveLength(2);
});

/** Keeps what it is sent, and closes the connection. */
async function startListener(t: Owner): Promise<{ port: number; heard: () => string }> {
  let heard = '';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      heard += bytes.toString('latin1');
      if (heard.includes('-01')) socket.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(async () => {
    const closed = once(server, 'close');
    server.close();
    await closed;
  });
  return { port: (server.address() as { port: number }).port, heard: () => heard };
}

for (const protocol of ['fastcgi', 'uwsgi', 'scgi'] as const) {
  test(`a try over ${protocol} sends its own id`, async (t) => {
    const collector = await startCollector(t);
    const peer = await startListener(t);
    const gw = await load(
      t,
      `${exporter(collector)} otel_trace_context propagate; otel_child_spans on;
       server { location / { ${protocol}_pass 127.0.0.1:${peer.port}; } }`,
    );
    await gw.expect('GET /', { status: 502 });
    await collector.waitForSpans(2);
    const attempt = collector.spans().find(({ kind }) => kind === 3);
    expect(peer.heard()).toContain(`00-${attempt?.traceId}-${attempt?.spanId}-01`);
  });
}

test('a try over FastCGI sends its own id, wherever a record of parameters ends', async (t) => {
  const collector = await startCollector(t);
  const program = await startProgram(t, 'fastcgi', () => ['Content-Type: text/plain\r\n\r\n', 'ok']);
  const gw = await startGateway(
    t,
    `${exporter(collector)} otel_trace_context propagate; otel_child_spans on;
     large_client_header_buffers 4 200k;
     server { location / { fastcgi_param COPY $http_traceparent; fastcgi_pass 127.0.0.1:${program.port}; } }`,
  );
  // The first record takes 65,528 bytes: in one of these requests it would end inside of the ids, which have 49.
  const fillers = Array.from({ length: 12 }, (_, step) => 65_000 + step * 45);
  for (const [nth, bytes] of fillers.entries()) {
    await gw.expect('GET /', { status: 200 }, { headers: { 'X-Filler': 'f'.repeat(bytes) } });
    await collector.waitForSpans(2 * (nth + 1));
    const attempt = collector.spans().findLast(({ kind }) => kind === 3);
    const [request] = program.heard();
    const { HTTP_TRACEPARENT, COPY, HTTP_X_FILLER = '' } = Object.fromEntries(request?.params ?? []);
    const own = `00-${attempt?.traceId}-${attempt?.spanId}-01`;
    expect([bytes, HTTP_TRACEPARENT, COPY, HTTP_X_FILLER.length]).toEqual([bytes, own, own, bytes]);
  }
});

for (const pass of ['proxy_http_version 2; proxy_pass http://', 'grpc_pass grpc://']) {
  test(`a try with "${pass}" sends its own id`, async (t) => {
    const collector = await startCollector(t);
    const peer = await startHttp2(t);
    const gw = await load(
      t,
      `${exporter(collector)} otel_trace_context propagate; otel_child_spans on;
       server { location / { ${pass}127.0.0.1:${peer.port}; } }`,
    );
    await gw.fetch('/');
    await collector.waitForSpans(2);
    const attempt = collector.spans().find(({ kind }) => kind === 3);
    expect(peer.heard[0]?.['traceparent']).toBe(`00-${attempt?.traceId}-${attempt?.spanId}-01`);
  });
}

test('a mirrored request belongs to the trace of its request', async (t) => {
  const collector = await startCollector(t);
  const heard = new Map<string | undefined, string>();
  const peer = await startPeer(t, 'ok', ({ url, headers }, response) => {
    heard.set(url, String(headers['traceparent']));
    response.end();
  });
  const gw = await load(
    t,
    `${exporter(collector)} otel_trace_context propagate;
     server {
       location / { mirror /mirror; proxy_pass http://127.0.0.1:${peer.port}; }
       location = /mirror { internal; proxy_pass http://127.0.0.1:${peer.port}/copy; }
     }`,
  );
  await gw.expect('GET /', { status: 200 });
  const [span] = await collector.waitForSpans(1);
  await collector.waitFor(() => heard.size === 2, 'mirrored request');
  const own = `00-${span?.traceId}-${span?.spanId}-01`;
  expect([heard.get('/'), heard.get('/copy')]).toEqual([own, own]);
});
