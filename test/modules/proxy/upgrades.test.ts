import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { ON_NODE_ENGINE } from '../../harness/engine.ts';
import { oneGateway, type Owner } from '../../harness/gateway.ts';

const load = oneGateway();

/** Starts an upstream that changes to the protocol in the path if a request has `Upgrade`; otherwise it sends 200. */
async function startEager(t: Owner): Promise<{ port: number; heads: string[] }> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const upstream = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', (bytes: Buffer) => {
      const head = bytes.toString('latin1');
      heads.push(head);
      const protocol = /\/to\/([^ ]*) /.exec(head)?.[1] ?? '';
      const named = protocol === 'none' ? '' : `Upgrade: ${protocol.replace('_', '/')}\r\n`;
      socket.write(
        /^upgrade:/im.test(head)
          ? `HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n${named}\r\n`
          : 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain',
      );
    });
  });
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    upstream.close();
  });
  return { port: (upstream.address() as AddressInfo).port, heads };
}

const conf = (port: number): string => `server {
  proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
  location / { proxy_pass http://127.0.0.1:${port}; }
  location /listed/ { proxy_upgrade_protocols tcp SPDY/3.1; proxy_pass http://127.0.0.1:${port}; }
  location /fixed/ {
    proxy_set_header Upgrade h2c; proxy_set_header Connection upgrade; proxy_pass http://127.0.0.1:${port};
  }
}`;

const KEY = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

/** The status of upgrades that need the node engine: uWebSockets.js hands over WebSockets only. */
const NODE_ONLY = ON_NODE_ENGINE ? 101 : 502;

/** `sent`: the `Upgrade` that reaches the upstream. */
const CASES: readonly { upgrade: string; path: string; status: number; sent?: string }[] = [
  { upgrade: 'websocket', path: '/to/websocket', status: 101, sent: 'websocket' },
  { upgrade: 'WebSocket', path: '/to/websocket', status: 101, sent: 'WebSocket' },
  { upgrade: 'h2c', path: '/to/h2c', status: 200 },
  { upgrade: 'H2C', path: '/to/h2c', status: 200 },
  { upgrade: 'TLS/1.0, HTTP/1.1', path: '/to/TLS_1.0', status: 200 },
  { upgrade: 'websocket, h2c', path: '/to/websocket', status: 101, sent: 'websocket' },
  { upgrade: 'h2c,websocket', path: '/to/websocket', status: 101, sent: 'websocket' },
  { upgrade: 'h2c\r\nUpgrade: websocket', path: '/to/websocket', status: 101, sent: 'websocket' },
  { upgrade: 'websocket\r\nUpgrade: h2c', path: '/to/h2c', status: 502, sent: 'websocket' },
  { upgrade: 'websocket', path: '/to/h2c', status: 502, sent: 'websocket' },
  { upgrade: 'websocket', path: '/to/websocket,h2c', status: 502, sent: 'websocket' },
  { upgrade: 'websocket', path: '/to/none', status: 502, sent: 'websocket' },
  { upgrade: '', path: '/to/h2c', status: 200 },
  { upgrade: 'tcp', path: '/listed/to/tcp', status: NODE_ONLY, sent: 'tcp' },
  { upgrade: 'spdy/3.1', path: '/listed/to/SPDY_3.1', status: NODE_ONLY, sent: 'spdy/3.1' },
  { upgrade: 'websocket', path: '/listed/to/websocket', status: 200 },
  { upgrade: 'h2c', path: '/fixed/to/h2c', status: 200 },
  { upgrade: 'websocket', path: '/fixed/to/websocket', status: 200 },
];

for (const { upgrade, path, status, sent } of CASES) {
  test(`"Upgrade: ${upgrade.replace('\r\nUpgrade: ', '" and "Upgrade: ')}" to ${path} gives ${status}`, async (t) => {
    const upstream = await startEager(t);
    const gw = await load(t, conf(upstream.port));
    const connection = await gw.connect();
    connection.write(
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n${KEY}Upgrade: ${upgrade}\r\n\r\n`,
    );
    await connection.until(/\r\n\r\n/);
    connection.destroy();
    expect(connection.received()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const [head = ''] = upstream.heads;
    expect(/^upgrade: (.*)\r$/im.exec(head)?.[1]).toBe(sent);
    expect(head).not.toMatch(/http2-settings:/i);
  });
}

test('an upstream that changes to a protocol that was not requested is logged', async (t) => {
  const upstream = await startEager(t);
  const gw = await load(t, conf(upstream.port));
  const connection = await gw.connect();
  connection.write(
    `GET /to/h2c HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n${KEY}Upgrade: websocket\r\n\r\n`,
  );
  await connection.until(/\r\n\r\n/);
  connection.destroy();
  expect(connection.received()).toMatch(/^HTTP\/1\.1 502 /);
  await gw.waitForLog(/\[error\] .*upstream switched to "h2c", which was not asked for/);
});
