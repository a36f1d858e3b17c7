import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { oneGateway, type Owner } from '../../harness/gateway.ts';
import { callOn, openHttp2 } from '../../harness/http2-client.ts';

/** An upstream that switches to the protocol that it is asked for, and sends every byte back in capitals. */
async function startEcho(t: Owner): Promise<{ port: number; seen: Record<string, unknown>[] }> {
  const seen: Record<string, unknown>[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_, response) => response.writeHead(404).end('no'));
  server.on('upgrade', (request, socket: Socket, head: Buffer) => {
    const { method, url, headers } = request;
    seen.push({
      method,
      url,
      upgrade: headers.upgrade,
      version: headers['sec-websocket-version'],
      key: headers['sec-websocket-key'],
    });
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\nSec-WebSocket-Protocol: chat\r\n\r\nhello ',
    );
    const echo = (bytes: Buffer): void => void socket.write(bytes.toString().toUpperCase());
    if (head.length > 0) echo(head);
    if (url === '/sink') return void socket.resume();
    socket.on('data', echo).on('end', () => socket.end('bye'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

const load = oneGateway();

async function start(t: Owner): Promise<{ session: ClientHttp2Session; seen: Record<string, unknown>[] }> {
  const { port, seen } = await startEcho(t);
  const gw = await load(
    t,
    `http2 on; server {
      location ~ ^/(?:chat|sink) { proxy_pass http://127.0.0.1:${port}; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }
      location /plain { proxy_pass http://127.0.0.1:${port}; }
      location / { return 200 "$request_method $http_upgrade"; }
    }`,
  );
  const session = openHttp2(gw.port);
  t.onTestFinished(async () => session.destroy());
  await once(session, 'remoteSettings');
  return { session, seen };
}

function openTunnel(session: ClientHttp2Session, path: string, protocol = 'websocket'): ClientHttp2Stream {
  return session.request(
    {
      ':method': 'CONNECT',
      ':protocol': protocol,
      ':path': path,
      ':scheme': 'http',
      'sec-websocket-version': '13',
    },
    { endStream: false },
  );
}

async function statusOf(stream: ClientHttp2Stream): Promise<IncomingHttpHeaders> {
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  return headers;
}

test('the settings of a connection allow extended CONNECT', async (t) => {
  const { session } = await start(t);
  expect(session.remoteSettings.enableConnectProtocol).toBe(true);
});

test('an extended CONNECT reaches a WebSocket upstream as an upgrade, and bytes go both ways', async (t) => {
  const { session, seen } = await start(t);
  const stream = openTunnel(session, '/chat?room=1');
  let text = '';
  stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const headers = await statusOf(stream);
  expect([headers[':status'], headers['sec-websocket-protocol'], headers['sec-websocket-accept']]).toEqual([
    200,
    'chat',
    undefined,
  ]);
  stream.write('abc');
  await expect.poll(() => text).toBe('hello ABC');
  expect((await callOn(session, '/')).body).toBe('GET ');
  stream.write('def');
  await expect.poll(() => text).toBe('hello ABCDEF');
  stream.end();
  await once(stream, 'close');
  expect(seen).toEqual([
    {
      method: 'GET',
      url: '/chat?room=1',
      upgrade: 'websocket',
      version: '13',
      key: expect.stringMatching(/^[\w+/]{22}==$/) as string,
    },
  ]);
});

test('a client may send through its tunnel as much as it wants', async (t) => {
  const { session } = await start(t);
  const stream = openTunnel(session, '/sink');
  await statusOf(stream);
  stream.resume();
  const piece = Buffer.alloc(1_048_576, 'x');
  for (let count = 0; count < 20; count++) if (!stream.write(piece)) await once(stream, 'drain');
  // The connection is looked at once per second.
  await sleep(2_500);
  expect((await callOn(session, '/')).status).toBe(200);
  expect(stream.closed).toBe(false);
});

for (const { it, path, status } of [
  { it: 'that gw serves itself', path: '/', status: 501 },
  { it: 'whose upstream refuses', path: '/plain', status: 404 },
]) {
  test(`an extended CONNECT to a location ${it} is refused`, async (t) => {
    const { session } = await start(t);
    const stream = openTunnel(session, path);
    expect((await statusOf(stream))[':status']).toBe(status);
    stream.resume();
    await once(stream, 'close');
    expect((await callOn(session, '/')).status).toBe(200);
  });
}

test('a client that resets its tunnel closes the connection to the upstream', async (t) => {
  const { session } = await start(t);
  const stream = openTunnel(session, '/chat');
  await statusOf(stream);
  stream.on('error', () => undefined).close(8);
  await once(stream, 'close');
  expect((await callOn(session, '/')).status).toBe(200);
});

for (const protocol of ['h2c', 'connect-udp']) {
  test(`an extended CONNECT for ${protocol} is an ordinary request to the upstream`, async (t) => {
    const { session, seen } = await start(t);
    const stream = openTunnel(session, '/chat', protocol);
    expect((await statusOf(stream))[':status']).toBe(404);
    stream.resume();
    expect(seen).toEqual([]);
  });
}

test('a plain CONNECT is refused', async (t) => {
  const { session } = await start(t);
  const stream = session.request({ ':method': 'CONNECT', ':authority': 'a.example:80' });
  expect((await statusOf(stream))[':status']).toBe(405);
});
