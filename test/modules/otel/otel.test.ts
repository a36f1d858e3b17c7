import { expect, test } from 'vitest';
import { type Collector, startCollector } from '../../harness/collector.ts';
import { oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer } from '../../harness/peer.ts';

const load = oneGateway();
const onNode = oneGateway({ main: 'http_engine node;' });

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b9c7c989f97918e1';
const STATE = 'congo=ucfJifl5GOE,rojo=00f067aa0ba902b7';
const CALLER = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: STATE };

const exporter = ({ port }: Collector, more = ''): string =>
  `otel_exporter { endpoint http://127.0.0.1:${port}/v1/traces; interval 5ms; batch_size 3; batch_count 30; ${more} }`;

/** The locations of nginx-otel's own tests. */
const LOCATIONS = (port: number): string => `
  location /ok { return 200 OK; }
  location /err { return 500 ERR; }
  location /custom {
    otel_span_name custom_location;
    otel_span_attr http.request.completion $request_completion;
    otel_span_attr http.response.header.content.type $sent_http_content_type;
    otel_span_attr http.request $request;
    return 200 OK;
  }
  location /vars {
    otel_trace_context extract;
    add_header X-Otel-Trace-Id $otel_trace_id; add_header X-Otel-Span-Id $otel_span_id;
    add_header X-Otel-Parent-Id $otel_parent_id; add_header X-Otel-Parent-Sampled $otel_parent_sampled;
    add_header X-Synonyms $trace_id-$span_id;
    return 204;
  }
  location /ignore { proxy_pass http://127.0.0.1:${port}/notrace; }
  location /extract { otel_trace_context extract; proxy_pass http://127.0.0.1:${port}/notrace; }
  location /inject { otel_trace_context inject; proxy_pass http://127.0.0.1:${port}/notrace; }
  location /propagate { otel_trace_context propagate; proxy_pass http://127.0.0.1:${port}/notrace; }
  location /notrace {
    otel_trace off;
    add_header X-Otel-Traceparent $http_traceparent; add_header X-Otel-Tracestate $http_tracestate;
    return 204;
  }`;

async function startTraced(t: Owner, more = '') {
  const collector = await startCollector(t);
  const gw = await load(
    t,
    (_, port) =>
      `${exporter(collector)} otel_trace on; server { server_name localhost; ${LOCATIONS(port)} ${more} }`,
  );
  return { gw, collector };
}

for (const { path, status } of [
  { path: '/ok', status: 200 },
  { path: '/err', status: 500 },
]) {
  test(`a span of ${path} has the default attributes`, async (t) => {
    const { gw, collector } = await startTraced(t);
    const { body } = await gw.expect(`GET ${path}`, { status }, { headers: { 'User-Agent': 'tester/1' } });
    const [span] = await collector.waitForSpans(1);
    expect(span).toMatchObject({ name: path, kind: 2, status: status === 500 ? { code: 2 } : {} });
    expect(span?.attributes).toMatchObject({
      'http.method': 'GET',
      'http.target': path,
      'http.route': path,
      'http.scheme': 'http',
      'http.flavor': '1.1',
      'http.user_agent': 'tester/1',
      'http.request_content_length': 0,
      'http.response_content_length': body.length,
      'http.status_code': status,
      'net.host.name': 'localhost',
      'net.host.port': gw.port,
      'net.sock.peer.addr': '127.0.0.1',
      'http.request.id': expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });
}

test('attributes and names can be chosen, and headers are lists', async (t) => {
  const { gw, collector } = await startTraced(t);
  await gw.expect('GET /custom', { status: 200 });
  const [span] = await collector.waitForSpans(1);
  expect(span?.name).toBe('custom_location');
  expect(span?.attributes).toMatchObject({
    'http.request.completion': 'OK',
    'http.response.header.content.type': [expect.stringContaining('text/plain')],
    'http.request': 'GET /custom HTTP/1.1',
  });
});

for (const headers of [{}, CALLER]) {
  const isCalled = 'traceparent' in headers;
  test(`variables show a trace that ${isCalled ? 'a caller has begun' : 'begins here'}`, async (t) => {
    const { gw, collector } = await startTraced(t);
    const response = await gw.expect('GET /vars', { status: 204 }, { headers });
    const [span] = await collector.waitForSpans(1);
    const shown = (name: string): string | null => response.headers.get(`x-otel-${name}`);
    expect([shown('trace-id'), shown('span-id')]).toEqual([span?.traceId, span?.spanId]);
    expect(response.headers.get('x-synonyms')).toBe(`${span?.traceId}-${span?.spanId}`);
    expect(shown('parent-id')).toBe(isCalled ? SPAN : null);
    expect(shown('parent-sampled')).toBe(isCalled ? '1' : '0');
    expect(span?.parentSpanId).toBe(isCalled ? SPAN : undefined);
  });

  for (const use of ['ignore', 'extract', 'inject', 'propagate']) {
    test(`${use} passes ${isCalled ? "a caller's trace" : 'no trace'} on as it says`, async (t) => {
      const { gw, collector } = await startTraced(t);
      const response = await gw.expect(`GET /${use}`, { status: 204 }, { headers });
      const [span] = await collector.waitForSpans(1);
      const continues = isCalled && (use === 'extract' || use === 'propagate');
      if (continues) expect(span).toMatchObject({ traceId: TRACE, parentSpanId: SPAN, traceState: STATE });
      else expect(span?.traceId).not.toBe(TRACE);
      const injected = use === 'inject' || use === 'propagate';
      const own = {
        traceparent: `00-${span?.traceId}-${span?.spanId}-01`,
        tracestate: span?.traceState ?? null,
      };
      const { traceparent = null, tracestate = null } = injected ? own : (headers as Partial<typeof CALLER>);
      expect(response.headers.get('x-otel-traceparent')).toBe(traceparent);
      expect(response.headers.get('x-otel-tracestate')).toBe(tracestate);
    });
  }
}

test('a location without tracing exports nothing', async (t) => {
  const { gw, collector } = await startTraced(t);
  await gw.expect('GET /notrace', { status: 204 });
  await gw.expect('GET /ok', { status: 200 });
  expect((await collector.waitForSpans(1)).map(({ name }) => name)).toEqual(['/ok']);
});

test('batches are full, and name their service', async (t) => {
  const collector = await startCollector(t);
  const gw = await load(
    t,
    `otel_exporter { endpoint http://127.0.0.1:${collector.port}; protocol http/json; interval 10s; batch_size 3; batch_count 3; }
       otel_service_name test_service; otel_resource_attr my.name "my name"; otel_resource_attr my.name other;
       otel_trace on; server { location / { return 200; } }`,
  );
  for (let nth = 0; nth < 7; nth++) await gw.expect('GET /', { status: 200 });
  await collector.waitForSpans(6);
  for (const { message, path } of collector.exports) {
    const [{ resource, scopeSpans }] = message.resourceSpans;
    expect(path).toBe('/v1/traces');
    expect(scopeSpans[0].spans).toHaveLength(3);
    expect(resource.attributes).toEqual([
      { key: 'my.name', value: { stringValue: 'other' } },
      { key: 'service.name', value: { stringValue: 'test_service' } },
    ]);
  }
});

const sampling: readonly { it: string; conf: string; headers?: Record<string, string>; names: string[] }[] = [
  {
    it: 'may be that of the caller: yes',
    conf: 'otel_trace_context propagate; otel_trace $otel_parent_sampled;',
    headers: CALLER,
    names: ['/a'],
  },
  {
    it: 'may be that of the caller: no',
    conf: 'otel_trace_context propagate; otel_trace $otel_parent_sampled;',
    headers: { traceparent: `00-${TRACE}-${SPAN}-00` },
    names: [],
  },
  { it: 'may depend on the id of the trace', conf: 'otel_trace $by_trace;', names: ['/a'] },
  { it: 'may be a share of the requests: none', conf: 'otel_trace 0%;', names: [] },
  { it: 'may be a share of the requests: all', conf: 'otel_trace 100.0%;', names: ['/a'] },
  {
    it: 'about a share is that of the caller, who exports',
    conf: 'otel_trace_context extract; otel_trace 0%;',
    headers: CALLER,
    names: ['/a'],
  },
  {
    it: 'about a share is that of the caller, who does not export',
    conf: 'otel_trace_context propagate; otel_trace 100%;',
    headers: { traceparent: `00-${TRACE}-${SPAN}-00` },
    names: [],
  },
  {
    it: 'about a share is made here for who has no trace',
    conf: 'otel_trace_context propagate; otel_trace 100%;',
    headers: { traceparent: 'none' },
    names: ['/a'],
  },
  {
    it: 'about a share does not depend on a caller whose trace does not count',
    conf: 'otel_trace_context inject; otel_trace 0%;',
    headers: CALLER,
    names: [],
  },
  { it: 'takes other texts for off', conf: 'otel_trace $arg_x;', names: [] },
];
for (const { it, conf, headers = {}, names } of sampling) {
  test(`a decision ${it}`, async (t) => {
    const collector = await startCollector(t);
    const gw = await load(
      t,
      `${exporter(collector)} split_clients $otel_trace_id $by_trace { * on; }
         server { location /a { ${conf} return 200; } location /last { otel_trace on; return 200; } }`,
    );
    await gw.expect('GET /a?x=yes', { status: 200 }, { headers });
    await gw.expect('GET /last', { status: 200 });
    await collector.waitFor(() => collector.spans().some(({ name }) => name === '/last'), 'last span');
    expect(
      collector
        .spans()
        .map(({ name }) => name)
        .filter((name) => name !== '/last'),
    ).toEqual(names);
  });
}

test('a share of the requests is exported', async (t) => {
  const collector = await startCollector(t);
  const gw = await load(
    t,
    `${exporter(collector)} server { location /half { otel_trace 50%; return 200; } location /last { otel_trace on; return 200; } }`,
  );
  for (let nth = 0; nth < 400; nth++) await gw.expect('GET /half', { status: 200 });
  await gw.expect('GET /last', { status: 200 });
  await collector.waitFor(() => collector.spans().some(({ name }) => name === '/last'), 'last span');
  const exported = collector.spans().filter(({ name }) => name === '/half').length;
  // Five standard deviations.
  expect(exported).toBeGreaterThan(150);
  expect(exported).toBeLessThan(250);
});

test('a decision is kept over internal redirects and error pages, whatever their locations say', async (t) => {
  const collector = await startCollector(t);
  const gw = await load(
    t,
    `${exporter(collector)} server {
         location /traced { otel_trace on; rewrite ^ /plain last; }
         location /plain { add_header X-Trace $otel_trace_id; return 200; }
         location /missing { otel_trace on; error_page 404 /plain; return 404; }
         location /untraced { rewrite ^ /late last; }
         location /late { otel_trace on; add_header X-Trace $otel_trace_id; return 200; }
       }`,
  );
  const traced = await gw.expect('GET /traced', { status: 200 });
  const missing = await gw.expect('GET /missing', { status: 404 });
  const late = await gw.expect('GET /untraced', { status: 200 });
  expect(late.headers.get('x-trace')).toBeNull();
  const spans = await collector.waitForSpans(2);
  expect(spans.map(({ traceId }) => traceId)).toEqual([traced.headers.get('x-trace'), expect.any(String)]);
  expect(missing.status).toBe(404);
  expect(spans.map(({ attributes }) => attributes['http.status_code'])).toEqual([200, 404]);
});

test('inject without tracing sends ids whose flag is 0', async (t) => {
  const { gw } = await startTraced(
    t,
    'location /own { otel_trace off; otel_trace_context inject; return 200 $http_traceparent; }',
  );
  await gw.expect('GET /own', { body: /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/ });
});

test('two traceparent lines begin a new trace', async (t) => {
  const { gw, collector } = await startTraced(t);
  const line = `traceparent: ${CALLER.traceparent}\r\n`;
  await gw.raw(`GET /propagate HTTP/1.1\r\nHost: localhost\r\n${line}${line}Connection: close\r\n\r\n`);
  const [span] = await collector.waitForSpans(1);
  expect(span?.traceId).not.toBe(TRACE);
  expect(span?.parentSpanId).toBeUndefined();
});

const LONG = 'x'.repeat(20_000);
const ends: readonly {
  it: string;
  conf?: string;
  sends: string;
  status: number;
  name?: string;
  by?: string;
}[] = [
  {
    it: 'a head that cannot be read',
    sends: 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    status: 400,
    name: 'bad request',
    by: 'head',
  },
  {
    it: 'a head that is too long',
    sends: `GET / HTTP/1.1\r\nHost: a\r\nX: ${LONG}\r\n\r\n`,
    status: 400,
    name: 'bad request',
    by: 'head',
  },
  {
    it: 'a target that is too long',
    sends: `GET /${LONG} HTTP/1.1\r\nHost: a\r\n\r\n`,
    status: 414,
    name: 'bad request',
    by: 'head',
  },
  {
    it: 'a body that is too large',
    conf: 'client_max_body_size 1;',
    sends: 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n',
    status: 413,
    by: 'client_max_body_size',
  },
  {
    it: 'a client that may not',
    conf: 'deny all;',
    sends: 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    status: 403,
    by: 'access',
  },
  {
    it: 'a client without a password',
    conf: 'auth_basic x; auth_basic_user_file none;',
    sends: 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    status: 401,
    by: 'auth_basic',
  },
  {
    it: 'a rate that is too high',
    conf: 'limit_req zone=r;',
    sends: 'GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n',
    status: 503,
    by: 'limit_req',
  },
  {
    it: 'an upstream that is away',
    conf: 'proxy_pass http://127.0.0.1:1;',
    sends: 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    status: 502,
  },
  {
    it: 'the server level',
    conf: '',
    sends: 'GET /gone HTTP/1.1\r\nHost: a\r\n\r\n',
    status: 410,
    name: 'GET',
  },
];
for (const { it, conf = '', sends, status, name = '/', by } of ends) {
  test(`a span ends with ${it}`, async (t) => {
    const collector = await startCollector(t);
    const gw = await onNode(
      t,
      `${exporter(collector)} otel_trace on; limit_req_zone $server_port zone=r:64k rate=1r/m;
         server { if ($uri = /gone) { return 410; } location / { ${conf} } }`,
      { none: '' },
    );
    await gw.raw(sends);
    const isIt = (span: { attributes: Readonly<Record<string, unknown>> }): boolean =>
      span.attributes['http.status_code'] === status;
    await collector.waitFor(() => collector.spans().some(isIt), `span with ${status}`);
    const span = collector.spans().find(isIt);
    expect(span?.name).toBe(name);
    expect(span?.attributes['gw.refused_by']).toBe(by);
    expect(span?.status?.code).toBe(status >= 500 ? 2 : undefined);
  });
}

test('a span ends with a client that leaves', async (t) => {
  const peer = await startPeer(t, 'silent', () => undefined);
  const { gw, collector } = await startTraced(
    t,
    `location /slow { proxy_pass http://127.0.0.1:${peer.port}; }`,
  );
  const client = await gw.connect();
  client.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  await collector.waitFor(() => peer.requests.length === 1, 'request to the peer');
  client.destroy();
  const [span] = await collector.waitForSpans(1);
  expect(span).toMatchObject({ name: '/slow', attributes: { 'http.status_code': 499 } });
});
