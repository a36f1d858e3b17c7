import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { Owner } from '../harness/owner.ts';
import { call } from '../harness/http.ts';
import { callHttp2 } from '../harness/http2-client.ts';
import { startHttp2 } from '../harness/http2-upstream.ts';
import { startPeer } from '../harness/peer.ts';
import { freePort } from '../harness/ports.ts';
import { type ProgramRequest, startProgram } from '../harness/scripted-program.ts';
import type { Example } from './example.ts';

/** An application behind the gateway; gives its address. */
async function application(t: Owner, listener: RequestListener): Promise<string> {
  return `127.0.0.1:${(await startPeer(t, 'application', listener)).port}`;
}

/** A service of gRPC that responds to each call with its name; gives its port. */
async function callee(t: Owner, name: string): Promise<number> {
  const { port } = await startHttp2(t, (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(name);
  });
  return port;
}

/** Responds with the request that it got. */
const echo: RequestListener = ({ method, url, headers }, response) => {
  response.setHeader('X-Powered-By', 'test');
  response.end([method, url, headers.host, headers['x-forwarded-for'] ?? '-'].join(' '));
};

/** A page that clients with a session get of their own. */
const publish: RequestListener = ({ headers }, response) => {
  const [, session = 'nobody'] = /session=(\d+)/.exec(headers.cookie ?? '') ?? [];
  response.setHeader('Cache-Control', 'max-age=60').setHeader('Cache-Tag', 'news, article-1');
  response.end(`page of ${session}`);
};

const JSON_TYPE = { 'Content-Type': 'application/json' };

let operatorsPort = 0;
/** Requests that the origin of the mirror got. */
let asked = 0;
let httpsPort = 0;
let certificates = '';

/** One response over TLS for a server name; `refused` where the handshake fails. */
function overTls(name: string, path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({
      port: httpsPort,
      host: '127.0.0.1',
      servername: name,
      rejectUnauthorized: false,
    });
    let text = '';
    socket.setEncoding('utf8').on('data', (data: string) => (text += data));
    socket.on('error', () => resolve('refused')).on('close', () => resolve(text || 'refused'));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
  });
}

async function makeCertificate(t: Owner): Promise<Record<string, string>> {
  certificates = mkdtempSync(join(tmpdir(), 'gw-example-'));
  t.onTestFinished(async () => rmSync(certificates, { recursive: true }));
  const [certificate, key] = [join(certificates, 'crt.pem'), join(certificates, 'key.pem')];
  const words = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-subj',
    '/CN=shop.example',
  ];
  const made = spawnSync('openssl', ['req', '-x509', ...words, '-keyout', key, '-out', certificate]);
  if (made.status !== 0) throw new Error(`openssl made no certificate: ${made.stderr.toString()}`);
  httpsPort = await freePort();
  return { HTTPS: `127.0.0.1:${httpsPort}`, CERTIFICATE: certificate, KEY: key };
}

/** The examples of sites that are common with nginx. */
export const SITE_EXAMPLES: Readonly<Record<string, Example>> = {
  'cluster-balancer.conf': {
    env: async (t) => {
      const nodes = ['a', 'b', 'c'].map((name) => application(t, (_, response) => response.end(name)));
      const ports = (await Promise.all(nodes)).map((address) => address.split(':')[1] as string);
      return Object.fromEntries(ports.map((port, nth) => [`PORT_${'ABC'[nth]}`, port]));
    },
    calls: async (gw) => {
      const bodies = await Promise.all(Array.from({ length: 6 }, () => gw.fetch('/')));
      expect(new Set(bodies.map(({ body }) => body))).toEqual(new Set(['a', 'b', 'c']));
    },
  },
  'caching.conf': {
    env: async (t) => ({
      APP: await application(t, publish),
      OPERATORS: `127.0.0.1:${(operatorsPort ||= await freePort())}`,
    }),
    calls: async (gw) => {
      const page = (headers: Record<string, string> = {}) =>
        gw.fetch('/news/1', { headers: { Host: 'shop.example', ...headers } });
      const cached = async () => (await page()).headers.get('x-cache');
      const purge = (path: string, target: string) => {
        const body = JSON.stringify({ targets: [target] });
        return call(operatorsPort, path, { method: 'POST', headers: JSON_TYPE, body });
      };
      const first = await page();
      expect(first.headers.get('x-cache')).toBe('MISS');
      expect(first.headers.get('cache-tag')).toBeNull();
      await expect.poll(cached).toBe('HIT');
      const own = await page({ Cookie: 'session=7' });
      expect([own.headers.get('x-cache'), own.body]).toEqual(['BYPASS', 'page of 7']);
      expect((await page()).body).toBe('page of nobody');
      expect(JSON.parse((await purge('/purge', 'news')).body)).toMatchObject({ purged: 1 });
      expect(await cached()).toBe('MISS');
      await expect.poll(cached).toBe('HIT');
      const below = await purge('/purge/below', 'httpshop.example/news/');
      expect(JSON.parse(below.body)).toMatchObject({ purged: 1, worker_events: { published: 1 } });
      const { events } = JSON.parse((await call(operatorsPort, '/events')).body) as { events: unknown[] };
      expect(events).toMatchObject([{ type: 'purged' }, { type: 'purged' }]);
      expect((await call(operatorsPort, '/metrics')).body).toContain('gw_cache_entries{zone="pages"} 0');
    },
  },
  'grpc.conf': {
    env: async (t) => {
      const ports = await Promise.all(['a', 'b'].map((name) => callee(t, name)));
      return { ORDERS_A: `127.0.0.1:${ports[0]}`, ORDERS_B: `127.0.0.1:${ports[1]}` };
    },
    calls: async (gw) => {
      const ask = (path: string) =>
        callHttp2(gw.port, path, {
          method: 'POST',
          headers: { 'content-type': 'application/grpc' },
          body: 'x',
        });
      const calls = await Promise.all(['/shop.Orders/List', '/shop.Orders/List', '/shop.Feed/Open'].map(ask));
      expect(new Set(calls.map(({ body }) => body))).toEqual(new Set(['a', 'b']));
      expect(calls.map(({ trailers }) => trailers['grpc-status'])).toEqual(['0', '0', '0']);
      expect(await ask('/other')).toMatchObject({ status: 404 });
      await expect.poll(() => gw.read('calls.log')).toMatch(/"\/shop.Orders\/List" 200 grpc=0 /);
    },
  },
  'wordpress-site.conf': {
    files: { 'site/style.css': 'p {}', 'site/about/index.html': '<p>about', 'site/.env': 'SECRET=1' },
    env: async (t) => ({ APPLICATION: await application(t, echo) }),
    calls: async (gw) => {
      await gw.expect('GET /style.css', {
        status: 200,
        body: 'p {}',
        headers: { 'content-type': 'text/css' },
      });
      await gw.expect('GET /about', { status: 200, body: '<p>about' });
      await gw.expect('GET /2026/hello?p=1', {
        status: 200,
        body: 'GET /2026/hello?p=1 127.0.0.1 127.0.0.1',
      });
      await gw.expect('GET /missing.png', { status: 404 });
      await gw.expect('GET /.env', { status: 404 });
      await gw.expect('GET /uploads/shell.php', { status: 403 });
      const logins = await Promise.all(
        Array.from({ length: 6 }, () => gw.fetch('/login', { method: 'POST' })),
      );
      expect(logins.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
        200, 200, 200, 200, 429, 429,
      ]);
    },
  },
  'php-site.conf': {
    files: {
      'public/index.php': '<?php',
      'public/app.php': '<?php',
      'public/style.css': 'p {}',
      'public/.env': 'S=1',
    },
    env: async (t) => {
      const tell = ({ params }: ProgramRequest): string[] => {
        const { SCRIPT_FILENAME = '', PATH_INFO, QUERY_STRING } = Object.fromEntries(params);
        const script = SCRIPT_FILENAME.replace(/^.*\/public/, '');
        return ['Content-Type: text/html\r\n\r\n', `${script} ${PATH_INFO} ${QUERY_STRING}`];
      };
      return { PHP: `127.0.0.1:${(await startProgram(t, 'fastcgi', tell)).port}` };
    },
    calls: async (gw) => {
      await gw.expect('GET /style.css', { status: 200, body: 'p {}' });
      await gw.expect('GET /', { status: 200, body: '/index.php  ' });
      await gw.expect('GET /news/7?p=1', { status: 200, body: '/index.php  p=1' });
      await gw.expect('GET /app.php/orders/7?x=1', { status: 200, body: '/app.php /orders/7 x=1' });
      await gw.expect('GET /style.css/x.php', { status: 404 });
      await gw.expect('GET /none.php', { status: 404 });
      await gw.expect('GET /.env', { status: 404 });
      const cached = async (headers = {}) => (await gw.fetch('/app.php', { headers })).headers.get('x-cache');
      await expect.poll(() => cached()).toBe('HIT');
      expect(await cached({ Cookie: 'session=1' })).toBe('BYPASS');
    },
  },
  'composed-pages.conf': {
    env: async (t) => ({
      PARTS: await application(t, ({ url, headers }, response) => {
        if (url === '/broken') response.statusCode = 503;
        response.setHeader('X-Powered-By', 'test');
        response.end(`${url} of ${headers.cookie ?? 'nobody'}`);
      }),
    }),
    files: {
      'pages/index.html':
        '<!--#block name="empty" -->empty<!--#endblock -->' +
        '<!--#include virtual="/parts/basket" stub="empty" --> and <!--#include virtual="/parts/broken" stub="empty" -->\n',
      'pages/style.css': 'p { color: black }\n'.repeat(40),
    },
    calls: async (gw) => {
      const { body, headers } = await gw.fetch('/', { headers: { Cookie: 'session=7' } });
      expect(body).toBe('/basket of session=7 and empty\n');
      expect([headers.get('x-powered-by'), headers.get('x-frame-options')]).toEqual([null, 'SAMEORIGIN']);
      await gw.expect('GET /parts/basket', { status: 404 });
      const coded = await gw.fetch('/style.css', { headers: { 'Accept-Encoding': 'br' } });
      expect([coded.headers.get('content-encoding'), coded.headers.get('vary')]).toEqual([
        'br',
        'Accept-Encoding',
      ]);
    },
  },
  'mirror.conf': {
    env: async (t) => {
      asked = 0;
      return {
        ORIGIN: await application(t, ({ url }, response) => {
          asked += 1;
          response.setHeader('Last-Modified', 'Thu, 29 Feb 2024 12:34:56 GMT').end(`file ${url}`);
        }),
      };
    },
    calls: async (gw) => {
      await gw.expect('GET /pub/a.tar', { status: 200, body: 'file /pub/a.tar' });
      await expect.poll(() => gw.read('mirror/pub/a.tar')).toBe('file /pub/a.tar');
      await gw.expect('GET /pub/a.tar', {
        status: 200,
        body: 'file /pub/a.tar',
        headers: { 'last-modified': 'Thu, 29 Feb 2024 12:34:56 GMT' },
      });
      expect(asked).toBe(1);
    },
  },
  'single-page-application.conf': {
    files: { 'app/index.html': '<div id=app>', 'app/assets/main.1a2b.js': 'start()' },
    env: async (t) => ({ API: await application(t, echo) }),
    calls: async (gw) => {
      const page = { status: 200, body: '<div id=app>', headers: { 'cache-control': 'no-cache' } };
      await gw.expect('GET /', page);
      await gw.expect('GET /orders/7/edit', page);
      const immutable = { 'cache-control': 'public, max-age=31536000, immutable' };
      await gw.expect('GET /assets/main.1a2b.js', { status: 200, body: 'start()', headers: immutable });
      await gw.expect('GET /assets/old.js', { status: 404 });
      await gw.expect('DELETE /api/orders/7', { status: 200, body: 'DELETE /orders/7 127.0.0.1 -' });
    },
  },
  'api-proxy.conf': {
    env: async (t) => ({
      API_A: await application(t, echo),
      API_B: await application(t, (request, response) => {
        response.statusCode = request.url === '/broken' ? 500 : 200;
        echo(request, response);
      }),
    }),
    calls: async (gw) => {
      const from = (origin: string) => ({ headers: { origin, 'x-api-key': 'k' } });
      const allowed = { 'access-control-allow-origin': 'https://shop.example.com' };
      const response = await gw.expect(
        'GET /v1/orders?page=2',
        { status: 200, body: 'GET /orders?page=2 127.0.0.1 127.0.0.1', headers: allowed },
        from('https://shop.example.com'),
      );
      expect(response.headers.get('x-powered-by')).toBeNull();
      await gw.expect(
        'OPTIONS /v1/orders',
        { status: 204, headers: allowed },
        from('https://shop.example.com'),
      );
      const other = await gw.fetch('/v1/orders', from('https://example.com.evil.test'));
      expect(other.headers.get('access-control-allow-origin')).toBeNull();
      await gw.expect('GET /orders/7', { status: 301, location: `${gw.url}/v1/orders/7` });
      await gw.expect('GET /other', { status: 404, body: '{"error":"no such resource"}' });
      const broken = await Promise.all(Array.from({ length: 4 }, () => gw.fetch('/v1/broken')));
      expect(
        broken.some(({ status, body }) => status === 503 && body === '{"error":"try again later"}'),
      ).toBe(true);
      await expect
        .poll(() => gw.read('calls.log'))
        .toMatch(/^\{"time":"[^"]+","id":"[0-9a-f]{32}","call":"GET \/v1\/orders","status":200,/);
    },
  },
  'tls.conf': {
    files: { 'acme/.well-known/acme-challenge/token': 'proof' },
    env: makeCertificate,
    calls: async (gw) => {
      const as = (host: string) => ({ headers: { host } });
      await gw.expect(
        'GET /cart?n=1',
        { status: 301, location: 'https://shop.example/cart?n=1' },
        as('www.shop.example'),
      );
      await gw.expect(
        'GET /.well-known/acme-challenge/token',
        { status: 200, body: 'proof' },
        as('shop.example'),
      );
      expect(await overTls('shop.example', '/')).toMatch(
        /^HTTP\/1\.1 200 OK\r\n[^]*Strict-Transport-Security: [^]*TLSv1\.3 for shop\.example\n$/,
      );
      expect(await overTls('www.shop.example', '/a')).toMatch(
        /^HTTP\/1\.1 301 [^]*Location: https:\/\/shop\.example\/a\r\n/,
      );
      expect(await overTls('unknown.example', '/')).toBe('refused');
    },
  },
  'websocket-proxy.conf': {
    env: async (t) => {
      const { port, server } = await startPeer(t, 'application', echo);
      new WebSocketServer({ server }).on('connection', (socket) =>
        socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })),
      );
      return { APPLICATION: `127.0.0.1:${port}` };
    },
    calls: async (gw) => {
      await gw.expect('GET /page', { status: 200, body: 'GET /page 127.0.0.1 -' });
      const socket = new WebSocket(`ws://127.0.0.1:${gw.port}/live`);
      const said: string[] = [];
      socket.on('message', (data: Buffer) => said.push(data.toString()));
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
      for (const word of ['one', 'two'.repeat(50_000)]) socket.send(word);
      await expect.poll(() => said).toEqual(['one', 'two'.repeat(50_000)]);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.close(1000);
      expect(await closed).toBe(1000);
    },
  },
};
