import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { gatewayPerOptions } from '../../../harness/gateway.ts';
import { call, send } from '../../../harness/http.ts';
import { callHttp2 } from '../../../harness/http2-client.ts';
import { connectRaw } from '../../../harness/raw.ts';
import { readScripts, startScriptedUpstream } from '../../../harness/scripted-upstream.ts';
import { cached, cacheStatus, movableClock, startOrigin } from './origin.ts';

const load = gatewayPerOptions();

/** A page for the client with a cookie. */
const own = (
  { headers: { cookie, range } }: IncomingMessage,
  response: ServerResponse,
  headers: Record<string, string> = {},
): void => {
  const body = `page of ${cookie}`;
  const piece = range ? { 'Content-Range': `bytes 0-${body.length - 1}/${body.length}` } : {};
  response.writeHead(range ? 206 : 200, { 'Cache-Control': 'max-age=3600', ...headers, ...piece }).end(body);
};
const OFF = 'proxy_buffering off;';
const NO = { 'X-Accel-Buffering': 'no' };

const kept: readonly {
  it: string;
  conf?: string;
  http?: string;
  headers?: Record<string, string>;
  call?: typeof callHttp2 | typeof call;
}[] = [
  { it: 'with proxy_buffering off', conf: OFF },
  { it: 'with X-Accel-Buffering: no', headers: NO },
  { it: 'with proxy_cache_lock', conf: `${OFF} proxy_cache_lock on;` },
  { it: 'with stale responses allowed', conf: `${OFF} proxy_cache_use_stale error updating http_500;` },
  { it: 'with min_uses', headers: NO, conf: 'proxy_cache_min_uses 2;' },
  { it: 'with a key of its own', headers: NO, conf: 'proxy_cache_key same;' },
  { it: 'with tags', headers: { ...NO, 'Cache-Tag': 'a' }, conf: 'cache_tags;' },
  { it: 'with proxy_limit_rate', headers: NO, conf: 'proxy_limit_rate 1m;' },
  { it: 'with proxy_force_ranges', headers: NO, conf: 'proxy_force_ranges on;' },
  { it: 'over HTTP/2', http: 'http2 on;', headers: NO, call: callHttp2 },
  { it: 'over HTTP/2 with proxy_buffering off', http: 'http2 on;', conf: OFF, call: callHttp2 },
  {
    it: 'in slices',
    headers: NO,
    conf: 'slice 1m; proxy_set_header Range $slice_range; proxy_cache_key $uri$slice_range;',
  },
];

for (const { it, conf = '', http = '', headers = {}, call: ask = call } of kept) {
  test(`the page of one client reaches no other ${it}`, async (t) => {
    const origin = await startOrigin(t);
    const gw = await load(t, `${http} ${cached(origin, conf)}`);
    origin.respond = (request, response) => own(request, response, headers);
    const page = async (cookie: string): Promise<string> =>
      (await ask(gw.port, '/a', { headers: { cookie } })).body;
    const cookies = ['ann', 'bob', 'cy', 'dee'];
    expect(await Promise.all(cookies.map(page))).toEqual(cookies.map((cookie) => `page of ${cookie}`));
    for (const cookie of cookies) expect(await page(cookie)).toBe(`page of ${cookie}`);
    expect(origin.heard()).toHaveLength(8);
  });
}

/** A stream that does not end by itself. */
const endless = (_request: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(200, { ...NO, 'Content-Type': 'text/event-stream' }).write('data: a\n\n');
};

test('HEAD of an endless stream gets its response, and the request to the upstream ends', async (t) => {
  const origin = await startOrigin(t);
  const gw = await load(t, cached(origin));
  const left = new Promise<void>((resolve) => {
    origin.respond = (request, response) => {
      request.on('close', () => resolve());
      endless(request, response);
    };
  });
  const { status, headers } = await gw.fetch('/a', { method: 'HEAD' });
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  expect(origin.heard()).toEqual(['GET /a']);
  await left;
});

test('a client gets a stream as it comes, and the request to the upstream ends when it leaves', async (t) => {
  const origin = await startOrigin(t);
  const gw = await load(t, cached(origin, 'proxy_cache_lock on;'));
  const left = new Promise<void>((resolve) => {
    origin.respond = (request, response) => {
      request.on('close', () => resolve());
      endless(request, response);
    };
  });
  const streams = [];
  // The second one does not wait for the end of the first.
  for (const _ of ['one', 'two']) {
    const message = await send(gw.port, { path: '/a' }, undefined);
    expect(String((await once(message, 'data'))[0])).toBe('data: a\n\n');
    streams.push(message);
  }
  for (const message of streams) message.destroy();
  await left;
});

test('an update in the background gives up an endless stream and stores nothing', async (t) => {
  const clock = movableClock(t);
  const origin = await startOrigin(t);
  const http = cached(origin, 'proxy_cache_use_stale updating; proxy_cache_background_update on;');
  const gw = await load(t, http, clock.options);
  expect(await cacheStatus(gw)).toBe('MISS number 1');
  clock.move(4_000);
  for (const _ of ['first', 'second']) {
    const left = new Promise<void>((resolve) => {
      origin.respond = (request, response) => {
        request.on('close', () => resolve());
        endless(request, response);
      };
    });
    expect(await cacheStatus(gw)).toBe('STALE number 1');
    await left;
  }
});

const SCRIPTS = `
up: "HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: upgrade\\r\\n\\r\\n"
plain: "HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nplain"`;

test('a switch of protocols leaves no lock behind', async (t) => {
  const origin = await startScriptedUpstream(t, readScripts(SCRIPTS));
  const gw = await load(t, (_, port) =>
    cached(
      origin,
      `proxy_cache_lock on; proxy_cache_lock_timeout 1h; proxy_cache_lock_age 1h; proxy_cache_key same;
       proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $http_connection;`,
    ).replace('server {', `server { listen 127.0.0.1:${port} engine=node;`),
  );
  const client = await connectRaw(gw.port);
  client.write(
    'GET /~up HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  await client.until(/^HTTP\/1.1 101 /);
  expect(await cacheStatus(gw, '/~plain')).toBe('MISS plain');
  client.destroy();
});
