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
