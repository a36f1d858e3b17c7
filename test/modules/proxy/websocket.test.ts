import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { ON_NODE_ENGINE } from '../../harness/engine.ts';
import { perTier } from '../../harness/tier.ts';
import {
  oneGateway,
  startGateway,
  type Gateway,
  type GatewayOptions,
  type Owner,
} from '../../harness/gateway.ts';

const load = oneGateway();

/** An upstream that echoes messages; texts such as `close` are commands. */
async function startEcho(
  t: Owner,
  began: (client: WebSocket) => void = () => undefined,
): Promise<{ port: number; said: string[]; asked: IncomingMessage[] }> {
  const said: string[] = [];
  const asked: IncomingMessage[] = [];
  const server = createServer((_, response) => response.end('plain'));
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => [...offered].at(-1) ?? false,
  });
  server.on('upgrade', (request, socket, head) => {
    asked.push(request);
    if (request.url === '/refused') {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nX-Why: no\r\n\r\nno');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      began(client);
      echo(client, said);
      client.on('close', (code, reason: Buffer) => said.push(`close ${code} ${String(reason)}`));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    await once(server.close(), 'close');
  });
  return { port: (server.address() as AddressInfo).port, said, asked };
}

/** Sends each message back, and records pings and pongs. */
function echo(client: WebSocket, said: string[]): void {
  client.on('message', (data: Buffer, isBinary) => {
    const text = String(data);
    if (text === 'close') client.close(4001, 'see you');
    else if (text === 'ping') client.ping('are you there');
    else if (text === 'cut') client.terminate();
    else client.send(data, { binary: isBinary });
  });
  client.on('ping', (data: Buffer) => said.push(`ping ${String(data)}`));
  client.on('pong', (data: Buffer) => {
    said.push(`pong ${String(data)}`);
    client.send('pong came');
  });
}

const conf = (port: number): string => `
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  server { location / {
    proxy_pass http://127.0.0.1:${port}; proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
  } }`;

async function start(t: Owner, options?: GatewayOptions, began?: (client: WebSocket) => void) {
  const echo = await startEcho(t, began);
  const gw = options ? await startGateway(t, conf(echo.port), options) : await load(t, conf(echo.port));
  return { echo, gw };
}

async function connect(t: Owner, gw: Gateway, protocols: string[] = []): Promise<WebSocket> {
  const client = new WebSocket(`ws://127.0.0.1:${gw.port}/chat?x=1`, protocols);
  t.onTestFinished(() => Promise.resolve(client.terminate()));
  await once(client, 'open');
  return client;
}

async function say(client: WebSocket, data: string | Buffer): Promise<[data: Buffer, isBinary: boolean]> {
  client.send(data);
  return (await once(client, 'message')) as [Buffer, boolean];
}

async function closing(client: WebSocket): Promise<string> {
  const [code, reason] = (await once(client, 'close')) as [number, Buffer];
  return `${code} ${String(reason)}`.trim();
}

test('texts and binary messages go both ways, also large ones', async (t) => {
  const { gw } = await start(t);
  const client = await connect(t, gw);
  expect(String((await say(client, 'grün'))[0])).toBe('grün');
  const large = Buffer.alloc(5_000_000, 'x');
  const [data, isBinary] = await say(client, large);
  expect([data.equals(large), isBinary]).toEqual([true, true]);
});

// uWebSockets.js hands over frames, which are encoded again; the node engine passes on the bytes, as nginx does.
const PASSES_BYTES = ON_NODE_ENGINE;

test('the upstream chooses the subprotocol, and is offered compression only where bytes are passed on', async (t) => {
  const { gw, echo } = await start(t);
  const client = await connect(t, gw, ['first', 'second']);
  expect(client.protocol).toBe('second');
  expect(echo.asked[0]).toMatchObject({ url: '/chat?x=1', method: 'GET' });
  expect(echo.asked[0]?.headers).toMatchObject({ upgrade: 'websocket', connection: 'upgrade' });
  expect('sec-websocket-extensions' in (echo.asked[0]?.headers ?? {})).toBe(PASSES_BYTES);
});

test('pings reach the other side, and the pong of the client comes back', async (t) => {
  const { gw, echo } = await start(t);
  const client = await connect(t, gw);
  expect(String((await say(client, 'ping'))[0])).toBe('pong came');
  client.ping('client');
  await once(client, 'pong');
  await say(client, 'behind the ping');
  expect(echo.said).toEqual(['pong are you there', 'ping client']);
});

test('close codes and reasons go both ways', async (t) => {
  const { gw, echo } = await start(t);
  const client = await connect(t, gw);
  const closed = closing(client);
  client.send('close');
  expect(await closed).toBe('4001 see you');
  const other = await connect(t, gw);
  other.close(4002, 'enough');
  expect(await closing(other)).toBe('4002 enough');
  await expect.poll(() => echo.said).toEqual(['close 4001 see you', 'close 4002 enough']);
});

test('$bytes_sent counts what the client has received, and $body_bytes_sent what is behind the head', async (t) => {
  const { port } = await startEcho(t, (client) => {
    for (const length of [5, 200, 70_000]) client.send(Buffer.alloc(length));
    client.ping('ping');
    client.close(4001, 'see you');
  });
  const gw = await load(
    t,
    `log_format sent "$bytes_sent $body_bytes_sent"; access_log access.log sent; ${conf(port)}`,
  );
  const client = await gw.connect();
  const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  client.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n${key}\r\n`);
  // After the close frame the client sends its own, and the connection is closed.
  await client.until(/see you/);
  client.write(Buffer.from('888000000000', 'hex'));
  const received = await client.closed;
  const body = received.length - received.indexOf('\r\n\r\n') - 4;
  expect((await gw.waitForAccessLog(/^.*\n/))[0]).toBe(`${received.length} ${body}\n`);
});

test('the client is cut when the upstream is cut', async (t) => {
  const { gw } = await start(t);
  const client = await connect(t, gw);
  const closed = closing(client);
  client.send('cut');
  expect(await closed).toBe('1006');
});

test('the upstream is cut when the client is cut', async (t) => {
  const { gw, echo } = await start(t);
  const client = await connect(t, gw);
  client.terminate();
  await expect.poll(() => echo.said).toEqual(['close 1006 ']);
});

test('a refused handshake gets a plain response, and so does a request without a handshake', async (t) => {
  const { gw } = await start(t);
  const client = new WebSocket(`ws://127.0.0.1:${gw.port}/refused`);
  const [, response] = (await once(client, 'unexpected-response')) as [unknown, IncomingMessage];
  expect(response.statusCode).toBe(403);
  expect(response.headers['x-why']).toBe('no');
  response.resume();
  await gw.expect('GET /', { status: 200, body: 'plain' });
});

test('a handshake for a location without a proxy is an ordinary request', async (t) => {
  const gw = await load(t, 'server { return 200 text; }');
  const client = new WebSocket(`ws://127.0.0.1:${gw.port}/`);
  const [, response] = (await once(client, 'unexpected-response')) as [unknown, IncomingMessage];
  expect(response.statusCode).toBe(200);
  response.resume();
});

// Corked separately, uWebSockets.js closed 1 of some 500 connections, in one process of three.
test('none of many connections that are opened one after the other is cut', async (t) => {
  const { gw } = await start(t);
  for (let index = 0; index < perTier({ short: 60, long: 10_000 }); index++) {
    const client = await connect(t, gw);
    expect(String((await say(client, 'hello'))[0])).toBe('hello');
    client.terminate();
  }
});

test('a client that does not read holds the upstream back', async (t) => {
  const sent: Promise<void>[] = [];
  const { gw } = await start(t, {}, (client) => {
    for (let index = 0; index < 40; index++) {
      sent.push(new Promise((resolve) => client.send(Buffer.alloc(1_000_000), () => resolve())));
    }
  });
  const client = await connect(t, gw);
  client.pause();
  const all = Promise.all(sent).then(() => 'all');
  expect(await Promise.race([all, sleep(500, 'some')])).toBe('some');
  client.resume();
  let received = 0;
  client.on('message', (data: Buffer) => (received += data.length));
  await expect.poll(() => received).toBe(40_000_000);
});

test('a connection outlives a reload, and one line of the access log covers all of it', async (t) => {
  const { gw, echo } = await start(t);
  const client = await connect(t, gw);
  await gw.reload(conf(echo.port));
  expect(String((await say(client, 'after'))[0])).toBe('after');
  client.close();
  await closing(client);
  await gw.waitForAccessLog(/"GET \/chat\?x=1 HTTP\/1\.1" 101 [1-9]\d* /);
});

test('a worker that stops ends a connection after the time limit, with 1001 where gw frames messages itself', async (t) => {
  const { gw, echo } = await start(t, { main: 'worker_shutdown_timeout 200ms;' });
  const client = await connect(t, gw);
  const closed = closing(client);
  gw.signal('SIGQUIT');
  expect(await closed).toBe(PASSES_BYTES ? '1006' : '1001');
  await expect.poll(() => echo.said).toEqual([PASSES_BYTES ? 'close 1006 ' : 'close 1001 ']);
  await gw.ended();
});

test('a closed WebSocket no longer counts in worker_connections', async (t) => {
  const { gw } = await start(t, { main: 'events { worker_connections 10; }' });
  for (let index = 0; index < 20; index++) {
    const client = await connect(t, gw);
    client.close();
    expect(await closing(client)).toMatch(/^100[56]$/);
  }
});

test('the data that waits for slow upstreams is bounded, per client and in total', async (t) => {
  const echo = await startEcho(t, (client) => client.pause());
  const gw = await load(t, conf(echo.port));
  const clients = await Promise.all(Array.from({ length: 12 }, () => connect(t, gw)));
  const closed = Promise.race(clients.map(closing));
  for (const client of clients) {
    client.on('error', () => undefined);
    client.send(Buffer.alloc(8_000_000));
  }
  if (!PASSES_BYTES) expect(await closed).toBe('1013');
  expect((await gw.fetch('/plain')).status).toBe(200);
  // The node engine holds clients back instead.
  if (PASSES_BYTES)
    expect(clients.map(({ readyState }) => readyState)).toEqual(Array(12).fill(WebSocket.OPEN));
});

test('a message beyond the limit of frames ends the connection', async (t) => {
  const { gw } = await start(t);
  const client = await connect(t, gw);
  if (PASSES_BYTES) {
    expect((await say(client, Buffer.alloc(17_000_000)))[0]).toHaveLength(17_000_000);
    return;
  }
  const closed = closing(client);
  client.on('error', () => undefined);
  client.send(Buffer.alloc(17_000_000));
  expect(await closed).toMatch(/^1006|^1009/);
});

test('silence beyond proxy_read_timeout ends the connection', async (t) => {
  const echo = await startEcho(t);
  const gw = await load(t, `proxy_read_timeout 200ms; ${conf(echo.port)}`);
  const client = await connect(t, gw);
  expect(await closing(client)).toBe('1006');
});

test('the access log has the response of the upstream to an upgrade', async (t) => {
  const echo = await startEcho(t);
  const gw = await load(
    t,
    `log_format up "$status $upstream_status $upstream_http_upgrade $upstream_header_time";
     access_log access.log up; ${conf(echo.port)}`,
  );
  const client = await connect(t, gw);
  client.close();
  const [line] = await gw.waitForAccessLog(/.+/);
  expect(line).toMatch(/^101 101 websocket \d+\.\d{3}$/);
});
