import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { callHttp2, callOn, openHttp2, responseOn } from '../../harness/http2-client.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  fieldBlock,
  frame,
  getFrame,
  openFrames,
} from '../../harness/http2-frames.ts';
import { startHttp2 } from '../../harness/http2-upstream.ts';
import { exchangeRaw } from '../../harness/raw.ts';

const CONF = `log_format completed "$status $request_completion"; http2 on; client_max_body_size 1m; large_client_header_buffers 2 1k;
server {
  server_name a.example;
  location / { return 200 "$request|$server_protocol|$http2|$host|$http_host|$http_cookie|$scheme|$http_x_eight"; }
  location = /requests { return 200 $connection_requests; }
  location = /twice { add_header Retry-After 1; add_header Retry-After 2; add_header Link a; add_header Link b; add_header Connection x; add_header constructor c; return 200 ""; }
  location = /bytes { add_header X-Umlaut "ü €"; return 200 ""; }
  location = /trailers { add_trailer X-End "$body_bytes_sent"; return 200 "body"; }
  location = /204 { return 204; }
  location = /205 { return 205 "text"; }
  location = /call { grpc_pass 127.0.0.1:1; return 404; }
  location = /unread { add_trailer X-End "$body_bytes_sent"; return 200 "body"; }
  location = /444 { return 444; }
  location = /echo { proxy_pass http://127.0.0.1:PORT/length; }
  location = /length { client_max_body_size 0; proxy_pass http://127.0.0.1:PORT/count; }
  location = /count { return 200 "$request_method $http_content_length $http_transfer_encoding"; }
  location = /small { client_max_body_size 10; proxy_pass http://127.0.0.1:PORT/count; }
  location = /head { access_log head.log completed; return 200 "body"; }
  location = /posts { access_log posts.log completed; proxy_pass http://127.0.0.1:PORT/count; }
  location = /rewritten { rewrite ^ /last?a=1 last; }
}`;

const load = oneGateway();
type Gateway = Awaited<ReturnType<typeof load>>;
const start = (t: Parameters<typeof load>[0]): Promise<Gateway> =>
  load(t, (_, port) => CONF.replaceAll('PORT', String(port)));

const REQUESTS: readonly {
  it: string;
  path: string;
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string;
  status?: number;
  shows: string;
}[] = [
  {
    it: 'shows its protocol in variables',
    path: '/x?a=1',
    shows: 'GET /x?a=1 HTTP/2.0|HTTP/2.0|h2c|a.example|a.example||http|',
  },
  {
    it: 'has its cookies in one line',
    path: '/',
    headers: { cookie: ['a=1', 'b=2'] },
    shows: 'GET / HTTP/2.0|HTTP/2.0|h2c|a.example|a.example|a=1; b=2|http|',
  },
  {
    it: 'is rewritten',
    path: '/rewritten',
    shows: 'GET /rewritten HTTP/2.0|HTTP/2.0|h2c|a.example|a.example||http|',
  },
  { it: 'brings a body', path: '/echo', method: 'POST', body: 'twelve bytes', shows: 'POST 12 ' },
  {
    it: 'brings a body without a length',
    path: '/echo',
    method: 'PUT',
    headers: { 'content-length': [] },
    body: 'x'.repeat(100_000),
    shows: 'PUT 100000 ',
  },
  {
    it: 'brings an empty body without a length',
    path: '/echo',
    method: 'PUT',
    headers: { 'content-length': [] },
    body: '',
    shows: 'PUT 0 ',
  },
  {
    it: 'is refused for its length',
    path: '/small',
    method: 'POST',
    body: 'eleven byte',
    status: 413,
    shows: '413 Request Entity Too Large',
  },
  { it: 'is refused for its method', path: '/', method: 'TRACE', status: 405, shows: '405 Not Allowed' },
  { it: 'is refused for its path', path: '/%zz', status: 400, shows: '400 Bad Request' },
  {
    it: 'is refused for a path that goes out of the root',
    path: '/../x',
    status: 400,
    shows: '400 Bad Request',
  },
  {
    it: 'is refused for its host',
    path: '/',
    headers: { host: 'a..b' },
    status: 400,
    shows: '400 Bad Request',
  },
  {
    it: 'is refused for a long path',
    path: `/${'x'.repeat(2000)}`,
    status: 414,
    shows: '414 Request-URI Too Large',
  },
  {
    it: 'is refused for headers that are too long together',
    path: '/',
    headers: { 'x-1': 'x'.repeat(700), 'x-2': 'x'.repeat(700), 'x-3': 'x'.repeat(700) },
    status: 400,
    shows: '400 Request Header Or Cookie Too Large',
  },
  {
    it: 'is refused for a long header',
    path: '/',
    headers: { 'x-long': 'x'.repeat(1020) },
    status: 400,
    shows: '400 Request Header Or Cookie Too Large',
  },
];

for (const { it, path, method, headers, body, status = 200, shows } of REQUESTS) {
  test(`a request over HTTP/2 ${it}`, async (t) => {
    const { port } = await start(t);
    const response = await callHttp2(port, path, {
      ...(method !== undefined && { method }),
      headers: { host: 'a.example', ...headers },
      ...(body !== undefined && { body }),
    });
    const [, title = response.body] = /<title>(.*)<\/title>/.exec(response.body) ?? [];
    expect([response.status, title]).toEqual([status, shows]);
  });
}

const RESPONSES: readonly {
  it: string;
  path: string;
  method?: string;
  fields: readonly string[];
  body: string;
}[] = [
  {
    it: 'joins fields that Node.js sends once, and drops those of connections',
    path: '/twice',
    fields: [
      ':status',
      '200',
      'content-type',
      'text/plain',
      'content-length',
      '0',
      'retry-after',
      '1, 2',
      'link',
      'a',
      'link',
      'b',
      'constructor',
      'c',
    ],
    body: '',
  },
  {
    it: 'has the bytes of its fields as HTTP/1 has them',
    path: '/bytes',
    fields: [
      ':status',
      '200',
      'content-type',
      'text/plain',
      'content-length',
      '0',
      'x-umlaut',
      Buffer.from('ü €').toString('latin1'),
    ],
    body: '',
  },
  { it: 'has no length with 204', path: '/204', fields: [':status', '204'], body: '' },
  {
    it: 'to HEAD has the length of the body',
    path: '/trailers',
    method: 'HEAD',
    fields: [':status', '200', 'content-type', 'text/plain', 'content-length', '4'],
    body: '',
  },
  {
    it: 'with the status 205 has no body',
    path: '/205',
    fields: [':status', '205', 'content-type', 'text/plain', 'content-length', '0'],
    body: '',
  },
  {
    it: 'with trailers has no length',
    path: '/trailers',
    fields: [':status', '200', 'content-type', 'text/plain'],
    body: 'body',
  },
];

for (const { it, path, method = 'GET', fields, body } of RESPONSES) {
  test(`a response over HTTP/2 ${it}`, async (t) => {
    const { port } = await start(t);
    const response = await callHttp2(port, path, { method });
    const shown = response.fields.filter(
      (_, at) => !['server', 'date'].includes(response.fields[at - (at % 2)] as string),
    );
    expect(shown).toEqual(fields);
    expect(response.body).toBe(body);
  });
}

for (const [headers, status] of [
  [3, 200],
  [4, 400],
] as const) {
  test(`max_headers 3 counts ${headers} headers, and not :authority`, async (t) => {
    const { port } = await load(t, 'http2 on; max_headers 3; server { location / { return 200 x; } }');
    const fields = Object.fromEntries(Array.from({ length: headers }, (_, n) => [`x-${n}`, 'v']));
    expect((await callHttp2(port, '/', { headers: fields })).status).toBe(status);
  });
}

const LARGE = 'v'.repeat(31_000);

test('a head of one large frame is read', async (t) => {
  const { port } = await load(
    t,
    'http2 on; large_client_header_buffers 4 32k; server { location / { return 200 $http_x_large; } }',
  );
  const client = await openFrames(port);
  // The size counts for a client that has acknowledged it.
  await expect.poll(() => client.frames.length).toBeGreaterThan(0);
  const payload = Buffer.concat([getFrame(1, '/').subarray(9), fieldBlock([['x-large', LARGE]])]);
  client.send(
    frame(FRAME.settings, { flags: 1 }),
    frame(FRAME.headers, { flags: END_STREAM + END_HEADERS, stream: 1, payload }),
  );
  const received = (): number =>
    client.frames.reduce((sum, { type, payload }) => sum + (type === FRAME.data ? payload.length : 0), 0);
  await expect.poll(received).toBe(LARGE.length);
  client.destroy();
});

test('heads beyond 64 KB are sent, to clients and to upstreams', async (t) => {
  const fields = Array.from({ length: 3 }, (_, n) => `X-${n} $http_x_large;`);
  const upstream = await startHttp2(
    t,
    (stream, headers) => {
      const lengths = fields.map((_, n) => String(headers[`x-${n}`]).length);
      stream.respond({ ':status': 200, 'x-lengths': lengths.join(' ') });
      stream.end();
    },
    { settings: { maxHeaderListSize: 1_000_000 } },
  );
  const { port } = await load(
    t,
    `http2 on; large_client_header_buffers 4 32k; server { location / {
       ${fields.map((field) => `proxy_set_header ${field} add_header ${field}`).join(' ')}
       proxy_http_version 2; proxy_pass http://127.0.0.1:${upstream.port}; } }`,
  );
  const { status, headers } = await callHttp2(port, '/', { headers: { 'x-large': LARGE } });
  expect([status, headers.get('x-lengths'), headers.get('x-2')?.length]).toEqual([
    200,
    '31000 31000 31000',
    31_000,
  ]);
});

for (const { it, path, host } of [
  { it: 'a path that does not begin with a slash', path: 'http://b.example/', host: 'a.example' },
  { it: 'a host with a slash', path: '/', host: 'a/b' },
]) {
  test(`a request over HTTP/2 with ${it} is malformed: its stream is reset`, async (t) => {
    const { port } = await start(t);
    await expect(callHttp2(port, path, { headers: { host } })).rejects.toThrow('PROTOCOL_ERROR');
  });
}

test('trailers end a response over HTTP/2', async (t) => {
  const { port } = await start(t);
  expect((await callHttp2(port, '/trailers')).trailers).toMatchObject({ 'x-end': '4' });
});

test('trailers end a response whose request has not ended', async (t) => {
  const { port } = await start(t);
  const session = openHttp2(port);
  const stream = session.request({ ':method': 'POST', ':path': '/unread', ':authority': 'a.example' });
  stream.write('the beginning');
  const response = await responseOn(stream);
  expect([response.body, response.trailers]).toMatchObject(['body', { 'x-end': '4' }]);
  expect(stream.rstCode).toBe(0);
  session.destroy();
});

for (const { it, path, ...init } of [
  { it: 'with HEAD', path: '/head', method: 'HEAD' },
  { it: 'with bodies', path: '/posts', method: 'POST', body: 'twelve bytes' },
])
  test(`requests ${it} are complete, and none counts as reset`, async (t) => {
    const gw = await start(t);
    const session = openHttp2(gw.port);
    for (let round = 0; round < 6; round++) {
      const responses = Array.from({ length: 100 }, () => callOn(session, path, init));
      expect(new Set((await Promise.all(responses)).map(({ status }) => status))).toEqual(new Set([200]));
    }
    session.destroy();
    const lines = (): string[] =>
      gw
        .read(`${path.slice(1)}.log`)
        .trimEnd()
        .split('\n');
    await expect.poll(() => lines().length).toBe(600);
    expect(new Set(lines())).toEqual(new Set(['200 OK']));
  });

for (const { path, method } of [
  { path: '/204', method: 'POST' },
  { path: '/205', method: 'POST' },
  { path: '/call', method: 'POST' },
  { path: '/', method: 'HEAD' },
]) {
  test(`${method} ${path} with a body that nobody reads gets its head`, async (t) => {
    const { port } = await start(t);
    const client = await openFrames(port);
    const fields = fieldBlock([
      [':method', method],
      [':scheme', 'http'],
      [':path', path],
      [':authority', 'a.example'],
      ['content-type', 'application/grpc'],
    ]);
    client.send(
      frame(FRAME.headers, { stream: 1, flags: END_HEADERS, payload: fields }),
      frame(FRAME.data, { stream: 1, flags: END_STREAM, payload: Buffer.from('body') }),
    );
    await expect.poll(() => client.frames.some(({ stream }) => stream === 1)).toBe(true);
    expect(client.frames.find(({ stream }) => stream === 1)?.type).toBe(FRAME.headers);
    client.destroy();
  });
}

test('return 444 resets the stream, and the others of its connection go on', async (t) => {
  const { port } = await start(t);
  const session = openHttp2(port);
  await expect(callOn(session, '/444')).rejects.toThrow('INTERNAL_ERROR');
  expect((await callOn(session, '/204')).status).toBe(204);
  session.destroy();
});

test('many requests share a connection', async (t) => {
  const { port } = await start(t);
  const session = openHttp2(port);
  const numbers = await Promise.all(Array.from({ length: 100 }, () => callOn(session, '/requests')));
  expect(new Set(numbers.map(({ body }) => body)).size).toBe(100);
  session.destroy();
});

test('a port with HTTP/2 serves HTTP/1 too', async (t) => {
  const { port } = await start(t);
  expect(await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n')).toContain(
    'GET / HTTP/1.1|HTTP/1.1||a.example',
  );
  // The first letters of the preface are those of methods, too.
  for (const preface of ['PRI * HTTP/2.1\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n'])
    expect(await exchangeRaw(port, preface)).toMatch(/^HTTP\/1\.1 400 /);
});

test('a client that expects it gets a 100 before it sends its body', async (t) => {
  const { port } = await start(t);
  const response = await callHttp2(port, '/echo', {
    method: 'POST',
    headers: { expect: '100-continue' },
    body: 'abc',
  });
  expect([response.interim, response.body]).toEqual([[100], 'POST 3 ']);
});
