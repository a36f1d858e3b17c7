import { beforeAll, expect, test } from 'vitest';
import { ON_NODE_ENGINE } from '../../harness/engine.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';

const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  gw = await startGateway(
    file,
    `large_client_header_buffers 4 1k;
     server {
       client_max_body_size 10;
       error_page 414 /long.html;
       location / { return 200 "ok"; }
       location /kv { kv_pass embedded:kv; kv_command set; kv_key k; }
       location /unlimited { client_max_body_size 0; kv_pass embedded:kv; kv_command set; kv_key k; }
       location /patient { client_body_timeout 60s; kv_pass embedded:kv; kv_command set; kv_key k; }
       location /slow { client_body_timeout 1s; kv_pass embedded:kv; kv_command set; kv_key k; }
       location /once { keepalive_timeout 0; return 200 "once"; }
       location /hidden { server_tokens off; return 404; }
       location /shown { return 404; }
       location /build { server_tokens build; return 404; }
     }`,
  );
});

const head = (line: string, ...headers: readonly string[]) =>
  `${[`${line} HTTP/1.1`, 'Host: a', ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`;

const raw = [
  {
    it: 'takes a request line of the size of a header buffer',
    bytes: head(`GET /${'a'.repeat(990)}`),
    response: /^HTTP\/1\.1 200 OK\r\n/,
  },
  {
    it: 'sends 414 to a longer request line',
    bytes: head(`GET /${'a'.repeat(1030)}`),
    response: /^HTTP\/1\.1 414 Request-URI Too Large\r\n/,
  },
  {
    it: 'sends 414 to a longer query',
    bytes: head(`GET /?${'a'.repeat(1030)}`),
    response: /^HTTP\/1\.1 414 /,
  },
  {
    it: 'takes a header of the size of a buffer',
    bytes: head('GET /', `X-A: ${'a'.repeat(1000)}`),
    response: /^HTTP\/1\.1 200 OK\r\n/,
  },
  {
    it: 'sends 400 and names the cause when a header is longer than a buffer',
    bytes: head('GET /', `Cookie: ${'a'.repeat(1100)}`),
    response: /^HTTP\/1\.1 400 Bad Request\r\n[^]*<title>400 Request Header Or Cookie Too Large<\/title>/,
  },
  {
    it: 'sends 400 when all headers together are longer than all buffers',
    bytes: head('GET /', ...Array.from({ length: 6 }, (_, at) => `X-${at}: ${'a'.repeat(900)}`)),
    response: /^HTTP\/1\.1 400 Bad Request\r\n/,
  },
  {
    it: 'takes a chunked body of the exact limit',
    bytes: `${head('POST /kv', 'Transfer-Encoding: chunked')}a\r\n0123456789\r\n0\r\n\r\n`,
    response: /^HTTP\/1\.1 20\d /,
  },
  {
    it: 'sends 413 to a chunked body one byte beyond the limit',
    bytes: `${head('POST /kv', 'Transfer-Encoding: chunked')}b\r\n01234567890\r\n0\r\n\r\n`,
    response: /^HTTP\/1\.1 413 Request Entity Too Large\r\n/,
  },
  {
    it: 'takes any body where the limit is 0',
    bytes: `${head('POST /unlimited', 'Content-Length: 2000')}${'a'.repeat(2000)}`,
    response: /^HTTP\/1\.1 20\d /,
  },
  {
    it: 'closes the connection after each response where keepalive_timeout is 0',
    bytes: 'GET /once HTTP/1.1\r\nHost: a\r\n\r\n',
    response: /^HTTP\/1\.1 200 OK\r\n(?=[^]*\r\n)(?=[^]*\nConnection: close\r\n)/i,
  },
];

for (const { it, bytes, response } of raw) {
  test(`the gateway ${it}`, async () => {
    expect(await gw.raw(bytes)).toMatch(response);
  });
}

test('a body that stops coming gets 408 after client_body_timeout', async () => {
  const connection = await gw.connect();
  connection.write('POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab');
  expect(await connection.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 408 Request Time-out\r\n/);
  connection.destroy();
});

test.skipIf(ON_NODE_ENGINE)('a body for which the engine waits no longer has timed out', async () => {
  const connection = await gw.connect();
  connection.write('POST /patient HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab');
  await expect
    .poll(() => gw.errorLog(), { timeout: 20_000 })
    .toMatch(
      /\[info\].*client timed out \(110: Connection timed out\) while reading client request body: uWebSockets\.js waits 10 s, client: .*"POST \/patient HTTP\/1\.1"/,
    );
  expect(gw.errorLog()).not.toMatch(/client prematurely closed connection, .*patient/);
  connection.destroy();
});

const tokens = [
  { path: '/hidden', server: 'gw', foot: /<center>gw<\/center>/ },
  {
    path: '/shown',
    server: /^gw\/\d+\.\d+\.\d+[-\w.]*$/,
    foot: /<center>gw\/\d+\.\d+\.\d+[-\w.]*<\/center>/,
  },
  { path: '/build', server: /^gw\/\d+\.\d+\.\d+/, foot: /<center>gw\/\d/ },
];

for (const { path, server, foot } of tokens) {
  test(`server_tokens decides what the response to ${path} says about the server`, async () => {
    await gw.expect(`GET ${path}`, { status: 404, headers: { server }, body: foot });
  });
}
