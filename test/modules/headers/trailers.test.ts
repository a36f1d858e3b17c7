import { expect, test } from 'vitest';
import { ON_NODE_ENGINE } from '../../harness/engine.ts';
import { oneGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const CONF = `
  location / { add_trailer X-Sum "$body_bytes_sent"; add_trailer X-Empty ""; return 200 "a text"; }
  location /two { add_trailer X-One 1; add_trailer X-Two "$uri"; gzip on; gzip_types *; return 200 "a text that is packed"; }
  location /404 { add_trailer X-Good good; return 404 text; }
  location /404/always { add_trailer X-Good good; add_trailer X-Always always always; return 404 text; }
  location /204 { add_trailer X-Good good; return 204; }
  location /off { add_trailer_inherit off; return 200 text; }`;

const cases = [
  ['end the body of a good response', 'GET / HTTP/1.1', /\r\n6\r\na text\r\n0\r\nX-Sum: 6\r\n\r\n$/],
  [
    'follow a packed body',
    'GET /two HTTP/1.1\r\nAccept-Encoding: gzip',
    /\r\n0\r\nX-One: 1\r\nX-Two: \/two\r\n\r\n$/,
  ],
  ['do not follow a bad response', 'GET /404 HTTP/1.1', /Content-Length: 4\r\n[^]*\r\n\r\ntext$/],
  [
    'follow a bad response with always',
    'GET /404/always HTTP/1.1',
    /\r\ntext\r\n0\r\nX-Always: always\r\n\r\n$/,
  ],
  ['are not sent to HTTP/1.0', 'GET / HTTP/1.0', /Content-Length: 6\r\n[^]*\r\n\r\na text$/],
  ['are not sent to HEAD', 'HEAD / HTTP/1.1', /Content-Length: 6\r\n[^]*\r\n\r\n$/],
  [
    'are not sent after a response without a body',
    'GET /204 HTTP/1.1',
    /^HTTP\/1.1 204 (?![^]*(?:Length|Encoding))[^]*\r\n\r\n$/,
  ],
] as const;

for (const [it, request, expected] of cases) {
  test(`trailers ${it}`, async (t) => {
    const gw = await load(t, (_, port) => `server { listen 127.0.0.1:${port} engine=node; ${CONF} }`);
    expect(await gw.raw(`${request}\r\nHost: a\r\nConnection: close\r\n\r\n`)).toMatch(expected);
  });
}

test.skipIf(ON_NODE_ENGINE)(
  'uWebSockets.js sends the body with its length instead of trailers',
  async (t) => {
    const gw = await load(t, `server { ${CONF} }`);
    await gw.expect('GET /', { status: 200, body: 'a text', headers: { 'content-length': '6' } });
  },
);

const upstreams = [
  ['HTTP/1.1', 'proxy_http_version 1.1;'],
  ['HTTP/1.1, unbuffered', 'proxy_http_version 1.1; proxy_buffering off;'],
  ['HTTP/2', 'proxy_http_version 2;'],
] as const;

for (const [it, version] of upstreams) {
  test(`trailers follow those of an upstream: ${it}`, async (t) => {
    const gw = await load(
      t,
      (_, port) => `
        server {
          listen 127.0.0.1:${port} engine=node; http2 on;
          proxy_pass_trailers on; ${version}
          location /own/ { add_trailer X-Extra "$upstream_trailer_sum"; proxy_pass http://127.0.0.1:${port}/inner; }
          location /empty/ { add_trailer X-Extra ""; proxy_pass http://127.0.0.1:${port}/inner; }
          location /inner { add_trailer Sum 1f; add_trailer State done; return 200 text; }
        }`,
    );
    const ask = (path: string) =>
      gw.raw(`GET ${path} HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: te, close\r\n\r\n`);
    const head = 'sum: 1f\r\nstate: done';
    expect((await ask('/own/')).toLowerCase()).toMatch(
      new RegExp(`\\r\\n0\\r\\n${head}\\r\\nx-extra: 1f\\r\\n\\r\\n$`),
    );
    expect((await ask('/empty/')).toLowerCase()).toMatch(new RegExp(`\\r\\n0\\r\\n${head}\\r\\n\\r\\n$`));
  });
}

test('$sent_trailer_ reads all values of a trailer', async (t) => {
  const gw = await load(
    t,
    `log_format all "$sent_trailer_a"; access_log access.log all;
     server { location / { add_trailer A 1; add_trailer A 2; add_trailer A 3; return 200 text; } }`,
  );
  await gw.fetch('/');
  expect((await gw.waitForAccessLog(/^.*\n/))[0]).toBe('1, 2, 3\n');
});

test('$sent_trailer_ reads a trailer', async (t) => {
  const gw = await load(
    t,
    `log_format sum "$sent_trailer_x_sum"; access_log access.log sum; server { ${CONF} }`,
  );
  await gw.fetch('/two');
  await gw.fetch('/');
  const [line] = await gw.waitForAccessLog(/^\d+\n/m);
  expect(line).toBe('6\n');
});
