import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { connect, type ConnectionOptions } from 'node:tls';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isTls, readClientHello } from '../../../src/worker/transport/node/client-hello.ts';
import { cipherNames, curveNames } from '../../../src/worker/transport/node/tls-facts.ts';

/** The first bytes that a client of node:tls sends. */
async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', ...options });
  client.on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  client.destroy();
  server.close();
  return bytes;
}

test('a hello gives the name, the ciphers and the curves that the client offers', async () => {
  const bytes = await helloOf({
    servername: 'A.Example',
    ciphers: 'TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256:AES256-SHA',
    ecdhCurve: 'P-384:X25519',
  });
  expect(isTls(bytes)).toBe(true);
  const hello = readClientHello(bytes);
  if (typeof hello !== 'object') throw new Error(String(hello));
  expect(hello.serverName).toBe('A.Example');
  expect(cipherNames(hello.ciphers)).toBe('TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256:AES256-SHA');
  expect(curveNames(hello.curves)).toBe('secp384r1:X25519');
});

test('a hello in pieces, in several records, or of TLS 1.2 is read, too', async () => {
  const bytes = await helloOf({ maxVersion: 'TLSv1.2' });
  for (let length = 0; length < bytes.length; length++) {
    const wanted = readClientHello(bytes.subarray(0, length));
    expect(wanted).toBeGreaterThan(length);
    expect(wanted).toBeLessThanOrEqual(bytes.length);
  }
  const record = (content: Buffer): Buffer =>
    Buffer.concat([bytes.subarray(0, 3), Buffer.from([content.length >> 8, content.length & 255]), content]);
  const split = Buffer.concat([record(bytes.subarray(5, 7)), record(bytes.subarray(7))]);
  expect(readClientHello(split)).toEqual(readClientHello(bytes));
  expect(readClientHello(bytes)).toMatchObject({ serverName: '' });
});

test('a hello may come in records of one byte; an empty record is invalid', async () => {
  const bytes = await helloOf({ servername: 'a.example' });
  const record = (content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([22, 3, 1, 0, content.length]), content]);
  const single = Array.from(bytes.subarray(5), (byte) => record(Buffer.from([byte])));
  expect(readClientHello(Buffer.concat(single))).toEqual(readClientHello(bytes));
  expect(readClientHello(Buffer.concat(single.slice(0, -1)))).toBe(6 * single.length - 1);
  expect(readClientHello(record(Buffer.alloc(0)))).toBe('unreadable');
});

test('a damaged hello is read, waited for or left to the TLS library, and never throws', async () => {
  const bytes = await helloOf({ servername: 'a.example' });
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(255), fc.nat(bytes.length), (at, byte, length) => {
      const damaged = Buffer.from(bytes.subarray(0, length));
      if (at < length) damaged[at] = byte;
      const hello = readClientHello(damaged);
      expect(typeof hello === 'string' ? 'unreadable' : hello).toBe(hello);
    }),
    { numRuns: 2000 },
  );
});
