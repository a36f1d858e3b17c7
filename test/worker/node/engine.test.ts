import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ON_NODE_ENGINE } from '../../harness/engine.ts';
import { oneGateway, startGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';
import { exchangeRaw } from '../../harness/raw.ts';

const load = oneGateway({ main: 'http_engine node;' });
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

test('a head that does not come in time is logged as 408, and the connection closes without a response', async (t) => {
  const gw = await load(t, 'server { client_header_timeout 100ms; return 200 x; }');
  const connection = await gw.connect();
  connection.write('GET /slow HTTP/1.1\r\nHost: a\r\n');
  expect(await connection.closed).toBe('');
  await gw.waitForAccessLog(/"GET \/slow HTTP\/1\.1" 408 0/);
});

test('a connection on which nothing comes closes without a line in the log', async (t) => {
  const gw = await load(t, 'server { client_header_timeout 100ms; return 200 x; }');
  expect(await (await gw.connect()).closed).toBe('');
  await gw.expect('GET /', { status: 200 });
  await gw.waitForAccessLog(/"GET \/ HTTP/);
  expect(gw.accessLog().match(/\n/g)).toHaveLength(1);
});

test.each([
  { it: 'has been idle', directives: 'keepalive_timeout 100ms;', requests: 1 },
  { it: 'has carried its requests', directives: 'keepalive_requests 2;', requests: 2 },
  { it: 'is too old', directives: 'keepalive_time 0;', requests: 1 },
])('a connection that $it closes', async ({ directives, requests }) => {
  const gw = await load({ onTestFinished }, `server { ${directives} return 200 "$connection_requests;"; }`);
  const connection = await gw.connect();
  connection.write(GET.repeat(requests));
  expect((await connection.closed).match(/\d;/g)).toEqual(['1;', '2;'].slice(0, requests));
});

test('responses to pipelined requests come in the order of the requests, however long each takes', async (t) => {
  const conf = (_: string, port: number): string => `server {
    location / { return 200 "n=$arg_n;"; }
    location /proxied { proxy_pass http://127.0.0.1:${port}/back; }
    location /back { return 200 "n=$arg_n;"; }
  }`;
  const gw = await load(t, conf);
  const connection = await gw.connect();
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  const paths = numbers.map((n) => (n % 2 === 0 ? `/proxied?n=${n}` : `/?n=${n}`));
  connection.write(paths.map((path) => GET.replace('/', path)).join(''));
  await connection.until(/n=19;/);
  connection.destroy();
  expect([...connection.received().matchAll(/n=(\d+);/g)].map(([, n]) => Number(n))).toEqual(numbers);
});

test('a client that takes nothing of its response is cut', async (t) => {
  const gw = await load(t, 'server { send_timeout 200ms; root .; }', {
    large: 'x'.repeat(20_000_000),
  });
  const socket = connect(gw.port, '127.0.0.1').pause();
  socket.write(GET.replace('/', '/large'));
  const [, bytes] = await gw.waitForAccessLog(/"GET \/large HTTP\/1\.1" 200 (\d+)/);
  socket.destroy();
  expect(Number(bytes)).toBeLessThan(20_000_000);
});

test('bytes go both ways through an upgraded connection, of a protocol that the configuration lists, until one side ends', async (t) => {
  const upstream = createServer((socket: Socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhello ');
      socket.on('data', (bytes: Buffer) =>
        bytes.toString() === 'bye' ? socket.end('gone') : socket.write(bytes),
      );
    });
    socket.on('error', () => undefined);
  });
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => void upstream.close());
  const { port } = upstream.address() as AddressInfo;
  const gw = await load(
    t,
    `server { location / { proxy_pass http://127.0.0.1:${port}; proxy_http_version 1.1;
       proxy_upgrade_protocols echo; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; } }`,
  );
  const connection = await gw.connect();
  connection.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nearly ');
  await connection.until(/\r\n\r\nhello early $/);
  expect(connection.received()).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n[^]*\r\nUpgrade: echo\r\n/);
  connection.write('\0\n\xff');
  await connection.until(/\0\n\xff$/);
  connection.write('bye');
  expect(await connection.closed).toMatch(/gone$/);
  await gw.waitForAccessLog(/" 101 \d+/);
});

test('listen ... proxy_protocol gives the client of the proxy', async (t) => {
  const port = await freePort();
  const gw = await startGateway(
    t,
    `server { listen 127.0.0.1:${port} proxy_protocol;
       return 200 "$proxy_protocol_addr $proxy_protocol_port $proxy_protocol_server_addr $proxy_protocol_server_port $remote_addr"; }`,
    { port },
  );
  const connection = await gw.connect();
  connection.write('PROXY TCP4 10.1.2.3 10.4.5.6 1111 2222\r\n');
  connection.write(GET);
  await connection.until(/10\.1\.2\.3 1111 10\.4\.5\.6 2222 127\.0\.0\.1$/);
  connection.destroy();
  expect(await gw.raw(GET)).toBe('');
  await gw.waitForLog(
    /broken header: "GET \/ HTTP\/1\.1.*" while reading PROXY protocol, client: 127\.0\.0\.1/,
  );
});

test('one port may have another engine than the rest', async (t) => {
  const [uws, node] = [await freePort(), await freePort()];
  const gw = await startGateway(
    t,
    `server { listen 127.0.0.1:${uws} engine=uws; listen 127.0.0.1:${node} engine=node; return 200 x; }`,
    { port: node },
  );
  expect(await gw.raw('GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK/);
  expect(await exchangeRaw(uws, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 505/);
});

test('a reload that gives a port another engine is refused, and the old one stays', async (t) => {
  const gw = await startGateway(t, 'server { return 200 x; }');
  const conf = (engine: string): string =>
    `server { listen 127.0.0.1:${gw.port} engine=${engine}; return 200 ${engine}; }`;
  expect(await gw.reload(conf('node'))).toBe(ON_NODE_ENGINE ? 'done' : 'refused');
  await gw.expect('GET /', { status: 200 });
});

test('where uWebSockets.js does not load, the node engine serves, and the log says so', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'gw-preload-'));
  t.onTestFinished(() => rmSync(dir, { recursive: true }));
  const preload = join(dir, 'preload.cjs');
  const breakUws = `const Module = require('node:module'); const { _load } = Module;
    Module._load = (name, ...rest) => { if (/^uWebSockets/.test(name)) throw new Error('broken'); return _load(name, ...rest); };`;
  writeFileSync(preload, breakUws);
  const gw = await startGateway(t, 'server { return 200 x; }', {
    main: 'http_engine auto;',
    env: { NODE_OPTIONS: `--require ${preload}` },
  });
  await gw.expect('GET /', { status: 200, body: 'x' });
  expect(gw.errorLog()).toMatch(
    /\[notice\] .*uWebSockets\.js has no binary for node .*: using the node engine/,
  );
});

test('a client that has reset its connection is not taken for one of a Unix socket', async (t) => {
  const conf = 'server { location / { allow unix:; deny all; } location /ok { return 200 ok; } }';
  const gw = await load(t, conf);
  for (let n = 0; n < 30; n++) {
    const socket = connect(gw.port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(GET.replace('/', '/reset'));
    socket.resetAndDestroy();
    await once(socket, 'close');
  }
  await gw.expect('GET /ok', { status: 200 });
  await gw.waitForAccessLog(/GET \/ok /);
  expect(gw.accessLog()).not.toContain('unix:');
});

test('a time beyond the longest timer does not end at once', async (t) => {
  const conf = 'server { client_header_timeout 30d; keepalive_timeout 30d; return 200 x; }';
  const gw = await load(t, conf);
  const connection = await gw.connect();
  for (const [at, byte] of [...GET].entries()) {
    if (at === 20) await gw.expect('GET /', { status: 200 });
    connection.write(byte);
  }
  await connection.until(/x$/);
  await gw.expect('GET /', { status: 200 });
  connection.write(GET);
  await connection.until(/x[^]*x$/);
  connection.destroy();
});
