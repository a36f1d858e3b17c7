import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect as connectPlain } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { type Gateway, oneGateway, type Owner } from '../harness/gateway.ts';

const load = oneGateway({ main: 'http_engine auto tls;' });

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  for (const name of ['a.test', 'b.test', 'new.test']) certificates.authority(name);
  certificates.lock('b.test', 'secret');
  certificates.write('passwords', 'wrong\nsecret\n');
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

const pair = (name: string, key = `${name}.key`): string =>
  `ssl_certificate ${certificates.path(`${name}.crt`)}; ssl_certificate_key ${certificates.path(key)};`;

/** Servers of one port: an RSA-free pair for all but `b.test` and what is below it, and a name that is refused. */
const conf = (port: number, more = ''): string => `
  server { listen 127.0.0.1:${port} ssl; server_name a.test; ${pair('a.test')} client_max_body_size 2m; ${more}
    location / { return 200 "a $scheme $https $host $content_length"; } }
  server { listen 127.0.0.1:${port} ssl; server_name plain.b.test; location / { return 200 "plain"; } }
  server { listen 127.0.0.1:${port} ssl; server_name b.test *.b.test; ${pair('b.test', 'b.test.locked')}
    ssl_password_file ${certificates.path('passwords')};
    location / { return 200 "b $scheme $host"; } }
  server { listen 127.0.0.1:${port} ssl; server_name refused.test; ssl_reject_handshake on; }`;

const start = (t: Owner, more = ''): Promise<Gateway> => load(t, (_, port) => conf(port, more));

async function shakeHands(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  await new Promise((resolve, reject) => {
    socket
      .once('secureConnect', resolve)
      .once('error', reject)
      .once('close', () => reject(new Error('closed')));
  });
  return socket;
}

/** Sends one request in a connection of its own; returns the name in the certificate, and the response's body. */
async function visit(
  port: number,
  options: ConnectionOptions = {},
  request?: string,
): Promise<[string, string]> {
  const socket = await shakeHands(port, options);
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  socket.write(
    request ?? `GET / HTTP/1.1\r\nHost: ${options.servername ?? 'a.test'}\r\nConnection: close\r\n\r\n`,
  );
  const shown = String(socket.getPeerCertificate().subject.CN);
  await once(socket, 'close');
  return [shown, received.slice(received.indexOf('\r\n\r\n') + 4)];
}

/** A handshake that fails, as the client tells it. */
const REFUSED = /SSL|closed|ECONNRESET|disconnected/i;

const HAS_TLS = HAS_OPENSSL && !ON_NODE_ENGINE;

const names = [
  { it: 'no name', servername: undefined, shown: 'a.test', body: 'a https on a.test ' },
  { it: 'the name of a server', servername: 'b.test', shown: 'b.test', body: 'b https b.test' },
  { it: 'a name below a wildcard', servername: 'x.b.test', shown: 'b.test', body: 'b https x.b.test' },
  {
    it: 'a name two labels below it',
    servername: 'y.x.b.test',
    shown: 'b.test',
    body: 'b https y.x.b.test',
  },
  {
    it: 'a server with the certificate of the default one',
    servername: 'plain.b.test',
    shown: 'a.test',
    body: 'plain',
  },
  { it: 'a name of no server', servername: 'other.test', shown: 'a.test', body: 'a https on other.test ' },
  {
    it: 'more labels than any name has',
    servername: `${'x.'.repeat(11)}b.test`,
    shown: 'a.test',
    body: expect.stringMatching(/^b /) as string,
  },
];
for (const { it, servername, shown, body } of names)
  test.runIf(HAS_TLS)(
    `TLS of uWebSockets.js shows a client that asks for ${it} the certificate of its server`,
    async (t) => {
      const gw = await start(t);
      expect(await visit(gw.port, servername === undefined ? {} : { servername })).toEqual([shown, body]);
    },
  );

test.runIf(HAS_TLS)('TLS of uWebSockets.js fails the handshake of a server that refuses all', async (t) => {
  const gw = await start(t);
  await expect(visit(gw.port, { servername: 'refused.test' })).rejects.toThrow(REFUSED);
  await visit(gw.port);
});

const hostile: readonly { it: string; options: ConnectionOptions; works?: boolean }[] = [
  { it: 'TLS 1.1', options: { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } },
  { it: 'ciphers that nobody has', options: { maxVersion: 'TLSv1.2', ciphers: 'PSK' } },
  { it: 'TLS 1.2', options: { maxVersion: 'TLSv1.2' }, works: true },
  { it: 'TLS 1.3', options: { minVersion: 'TLSv1.3' }, works: true },
  { it: 'HTTP/2 and HTTP/1.1', options: { ALPNProtocols: ['h2', 'http/1.1'] }, works: true },
];
for (const { it, options, works = false } of hostile)
  test.runIf(HAS_TLS)(
    `TLS of uWebSockets.js ${works ? 'serves' : 'refuses'} a client that offers ${it}`,
    async (t) => {
      const gw = await start(t);
      const visited = visit(gw.port, options);
      if (works) expect(await visited).toEqual(['a.test', 'a https on a.test ']);
      else await expect(visited).rejects.toThrow(REFUSED);
    },
  );

test.runIf(HAS_TLS)('TLS of uWebSockets.js resumes the sessions of both versions', async (t) => {
  const gw = await start(t);
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const options = { minVersion: version, maxVersion: version } as const;
    const first = await shakeHands(gw.port, options);
    let session: Buffer | undefined = first.getSession();
    first.on('session', (given: Buffer) => (session = given));
    first.write('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n');
    first.resume();
    await once(first, 'close');
    const again = await shakeHands(gw.port, { ...options, ...(session && { session }) });
    expect(again.isSessionReused()).toBe(true);
    again.destroy();
  }
});

test.runIf(HAS_TLS)(
  'TLS of uWebSockets.js closes what is no handshake, and one that is cut in the middle, and serves others meanwhile',
  async (t) => {
    const gw = await start(t);
    const sent = [
      'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n',
      '\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00',
      '\x80\x2e\x01\x00\x02',
    ];
    const closed = sent.map(async (bytes) => {
      const socket = connectPlain(gw.port, '127.0.0.1');
      socket.on('error', () => undefined).resume();
      socket.write(bytes, 'latin1');
      await once(socket, 'close');
      return socket.bytesRead;
    });
    // What is sent back is an alert at most, and never a page.
    for (const bytes of await Promise.all(closed)) expect(bytes).toBeLessThan(64);
    const silent = connectPlain(gw.port, '127.0.0.1');
    silent.write('\x16\x03\x01', 'latin1');
    await visit(gw.port);
    silent.destroy();
  },
);

test.runIf(HAS_TLS)(
  'TLS of uWebSockets.js receives bodies, sends large responses, and keeps the connection',
  async (t) => {
    const gw = await load(t, (_, port) => conf(port, `location /large { root ${certificates.dir}; }`));
    certificates.write('large', Buffer.alloc(3_000_000, 'x'));
    const socket = await shakeHands(gw.port);
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    const until = async (end: string, bytes: number): Promise<void> => {
      while (received.length < bytes || !received.endsWith(end)) await once(socket, 'data');
      received = '';
    };
    socket.write(
      `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n${'b'.repeat(1_000_000)}`,
    );
    await until('a https on a.test 1000000', 0);
    socket.write('GET /large HTTP/1.1\r\nHost: a.test\r\n\r\n');
    await until('x', 3_000_000);
    socket.write('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n');
    await once(socket, 'close');
    expect(received).toContain('a https on');
  },
);

test.runIf(HAS_TLS)('TLS of uWebSockets.js relays a WebSocket to an upstream', async (t) => {
  const upstream = createServer();
  const sockets = new WebSocketServer({ server: upstream });
  sockets.on('connection', (client) => client.on('message', (data) => client.send(data)));
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => void upstream.close());
  const { port: peer } = upstream.address() as AddressInfo;
  const pass = `location /ws { proxy_pass http://127.0.0.1:${peer}; proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }`;
  const gw = await start(t, pass);
  const client = new WebSocket(`wss://127.0.0.1:${gw.port}/ws`, {
    rejectUnauthorized: false,
    headers: { Host: 'a.test' },
  });
  await once(client, 'open');
  client.send('through TLS');
  const [said] = (await once(client, 'message')) as [Buffer];
  expect(String(said)).toBe('through TLS');
  client.close();
  await once(client, 'close');
});
