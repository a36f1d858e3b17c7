import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { rmSync } from 'node:fs';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates } from '../harness/certificates.ts';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';

/** The bytes that a client sends first, and those that it repeats for ever. */
const floods = [
  { it: 'CRLF', first: '', ever: '\r\n' },
  { it: 'LF', first: '', ever: '\n' },
  { it: 'CR', first: '', ever: '\r' },
  { it: 'blanks', first: '', ever: ' ' },
  { it: 'NUL', first: '', ever: '\0' },
  { it: 'letters', first: '', ever: 'A' },
  { it: 'a target without an end', first: 'GET /', ever: 'a' },
  { it: 'CRLF behind half a request line', first: 'GET', ever: '\r\n' },
  { it: 'a header without an end', first: 'GET / HTTP/1.1\r\nHost: a\r\nX: ', ever: 'a' },
  { it: 'headers without an end', first: 'GET / HTTP/1.1\r\nHost: a\r\n', ever: 'X: a\r\n' },
  { it: 'empty header names', first: 'GET / HTTP/1.1\r\nHost: a\r\n', ever: ':' },
  { it: 'half a PROXY line', first: 'PROXY TCP4 ', ever: '1' },
  { it: 'a PROXY line of blanks', first: 'PROXY TCP4', ever: ' ' },
  { it: 'half a PROXY header of version 2', first: '\r\n\r\n\0\r\nQUIT\n\x21\x11\x0f\xf0', ever: '\0' },
  { it: 'half a hello in one record', first: '\x16\x03\x01\x40\x00\x01\x00\xff\xff', ever: '\0' },
  {
    it: 'a hello in records without an end',
    first: '\x16\x03\x01\x00\x01\x01',
    ever: '\x16\x03\x01\x00\x01\xff',
  },
  { it: 'empty records', first: '', ever: '\x16\x03\x01\x00\x00' },
];

const HTTP = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const PROXY = 'PROXY TCP4 10.1.2.3 10.4.5.6 1111 2222\r\n';
/** More than the buffers of both kernels and of the gateway hold together. */
const MOST_BYTES = 64 * 1_048_576;

const file = wholeFile();
const ports = { auto: 0, node: 0, proxy: 0, tls: 0 };
let certificates: Certificates;
let gw: Gateway;

beforeAll(async () => {
  certificates = new Certificates();
  certificates.authority('ca');
  certificates.signed('server', 'ca');
  for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = await freePort();
  gw = await startGateway(
    file,
    `server {
       listen 127.0.0.1:${ports.auto}; listen 127.0.0.1:${ports.node} engine=node;
       listen 127.0.0.1:${ports.proxy} proxy_protocol; listen 127.0.0.1:${ports.tls} ssl;
       ssl_certificate server.crt; ssl_certificate_key server.key; lingering_close off; return 200 ok;
     }`,
    {
      port: ports.auto,
      files: { 'server.crt': certificates.read('server.crt'), 'server.key': certificates.read('server.key') },
    },
  );
});

afterAll(() => rmSync(certificates.dir, { recursive: true, force: true }));

/** Writes for ever. Gives what came back once the gateway ends the connection. */
async function flood(socket: Socket, { first, ever }: { first: string; ever: string }): Promise<string> {
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  socket.on('error', () => undefined);
  const ended = new Promise<boolean>((resolve) => {
    socket.once('end', () => resolve(true)).once('close', () => resolve(true));
  });
  const piece = Buffer.from(ever.repeat(1 + 16_384 / ever.length), 'latin1');
  socket.write(Buffer.from(first, 'latin1'));
  for (let sent = 0; ; sent += piece.length) {
    if (sent > MOST_BYTES) throw new Error(`the gateway still takes it after ${sent} bytes`);
    if (socket.writable && !socket.write(piece)) {
      const drained = new Promise<boolean>((resolve) => void socket.once('drain', () => resolve(false)));
      if (await Promise.race([ended, drained])) break;
    } else if (socket.destroyed || socket.readableEnded) break;
  }
  await ended;
  socket.destroy();
  return received;
}

const ways = [
  { way: 'the default engine', open: () => connect(ports.auto, '127.0.0.1') },
  { way: 'the node engine', open: () => connect(ports.node, '127.0.0.1') },
  { way: 'a PROXY port', open: () => connect(ports.proxy, '127.0.0.1') },
  { way: 'a PROXY port, behind the header', open: () => connect(ports.proxy, '127.0.0.1'), before: PROXY },
  { way: 'a TLS port', open: () => connect(ports.tls, '127.0.0.1') },
  {
    way: 'a TLS port, behind the handshake',
    open: () => connectTls({ port: ports.tls, host: '127.0.0.1', rejectUnauthorized: false }),
  },
];

for (const { way, open, before = '' } of ways) {
  for (const { it, first, ever } of floods) {
    test(`${it} for ever on ${way} ends the connection, and other clients are served`, async () => {
      const socket = open();
      await once(socket, 'connect');
      const [received] = await Promise.all([
        flood(socket, { first: before + first, ever }),
        gw.expect('GET /', { status: 200, body: 'ok' }),
      ]);
      expect(received).not.toContain(' 200 ');
      await gw.expect('GET /', { status: 200, body: 'ok' });
    });
  }
}

for (const [lines, status] of [
  ['\r\n'.repeat(8), 200],
  ['\n'.repeat(8), 200],
  ['\r\n'.repeat(9), 400],
  ['\n'.repeat(9), 400],
] as const) {
  test(`${JSON.stringify(lines)} before a request on the node engine gives ${status}`, async () => {
    const socket = connect(ports.node, '127.0.0.1');
    socket.setEncoding('latin1');
    for (const byte of `${lines}${HTTP}`) socket.write(byte);
    const [response] = (await once(socket, 'data')) as [string];
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    socket.destroy();
  });
}
