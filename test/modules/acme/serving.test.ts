import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TlsServers } from '../../../src/worker/transport/node/tls-servers.ts';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { startGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
  for (const name of ['one', 'two']) certificates.signed(name, 'ca');
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

const ISSUER =
  'acme_issuer le { uri http://127.0.0.1:1/directory; state_path off; accept_terms_of_service; }';

/** How a handshake ended for the client: the name in the certificate, or the code of the error. */
async function shakeHands(port: number, options: ConnectionOptions = {}): Promise<string> {
  const socket: TLSSocket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  const outcome = await new Promise<string>((resolve) => {
    socket.once('secureConnect', () => resolve(String(socket.getPeerCertificate().subject?.CN)));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
  socket.destroy();
  return outcome;
}

const REFUSED = 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR';

test('a handshake without a certificate is refused with an alert and one line; plain ports serve', async (t) => {
  const tls = await freePort();
  const gw = await startGateway(
    t,
    `${ISSUER}
    server { location / { return 200 "site $acme_certificate$acme_certificate_key"; } }
    server { listen 127.0.0.1:${tls} ssl; server_name a.test; acme_certificate le; return 200 tls; }`,
  );
  expect(await shakeHands(tls, { servername: 'a.test' })).toBe(REFUSED);
  await gw.waitForLog(/\[info\].* there is no certificate for "a\.test" yet while SSL handshaking/);
  expect(await shakeHands(tls, { servername: 'a.test', ALPNProtocols: ['acme-tls/1'] })).toBe(REFUSED);
  await gw.expect('GET /', { status: 200, body: 'site ' });
});

const UNKNOWN = [
  'GET /.well-known/acme-challenge/unknown-token',
  'GET /.well-known/acme-challenge/',
  'GET /.well-known/acme-challenge/../acme-challenge/x',
  'POST /.well-known/acme-challenge/unknown-token',
];

for (const request of UNKNOWN) {
  test(`the site responds to ${request}`, async (t) => {
    const tls = await freePort();
    const gw = await startGateway(
      t,
      `${ISSUER}
      server { location / { return 200 site; } }
      server { listen 127.0.0.1:${tls} ssl; server_name a.test; acme_certificate le; }`,
    );
    await gw.expect(request, { status: 200, body: 'site' });
  });
}

test('an issuer is asked about names once, and refused ones get no certificate', async (t) => {
  const tls = await freePort();
  const gw = await startGateway(
    t,
    `${ISSUER}
    log_format asked "$uri $arg_domain";
    server { location / { return 200 site; } }
    server {
      listen 127.0.0.1:${tls} ssl;
      server_name *.a.test;
      acme_certificate le;
      acme_on_demand ask=/may;
      location = /may { internal; log_subrequest on; access_log asked.log asked; return 403; }
    }`,
  );
  const visits = ['x.a.test', 'x.a.test', 'y.a.test'].map((servername) => shakeHands(tls, { servername }));
  expect(await Promise.all(visits)).toEqual([REFUSED, REFUSED, REFUSED]);
  expect(await shakeHands(tls, { servername: 'x.a.test' })).toBe(REFUSED);
  // Nobody asks for an address, nor for a client without a name.
  expect(await shakeHands(tls)).toBe(REFUSED);
  await gw.waitForLog(/"y\.a\.test" gets no certificate: "acme_on_demand" got status 403/);
  const asked = readFileSync(join(gw.dir, 'asked.log'), 'utf8').trim().split('\n');
  expect(asked.sort()).toEqual(['/may x.a.test', '/may y.a.test']);
});

test.runIf(HAS_OPENSSL)('a certificate may be in a variable, behind "data:"', async (t) => {
  const tls = await freePort();
  const pem = (name: string): string => `"data:${certificates.read(name)}"`;
  const plain = (name: string): string => `"${certificates.read(name)}"`;
  await startGateway(
    t,
    `server {
      listen 127.0.0.1:${tls} ssl;
      ssl_certificate $certificate;
      ssl_certificate_key data:$key;
    }
    map $ssl_server_name $certificate { one.test ${pem('one.crt')}; two.test ${pem('two.crt')}; }
    map $ssl_server_name $key { one.test ${plain('one.key')}; two.test ${plain('two.key')}; }`,
  );
  expect(await shakeHands(tls, { servername: 'one.test' })).toBe('one');
  expect(await shakeHands(tls, { servername: 'two.test' })).toBe('two');
  expect(await shakeHands(tls, { servername: 'three.test' })).toBe(REFUSED);
});

test.runIf(HAS_OPENSSL)(
  'the handshake of a challenge shows its certificate, then the connection ends',
  async (t) => {
    const servers = new TlsServers(() => undefined);
    const pair = { chain: certificates.read('one.crt'), key: certificates.read('one.key') };
    const listener = createServer({ pauseOnConnect: true }, (socket) => servers.showChallenge(pair, socket));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    t.onTestFinished(() => void listener.close());
    const { port } = listener.address() as { port: number };
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: 'one.test',
      ALPNProtocols: ['acme-tls/1'],
      rejectUnauthorized: false,
    });
    const tickets: Buffer[] = [];
    socket.on('session', (ticket: Buffer) => tickets.push(ticket));
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    expect(socket.alpnProtocol).toBe('acme-tls/1');
    expect(socket.getPeerCertificate().subject?.CN).toBe('one');
    socket.write('GET / HTTP/1.1\r\nHost: one.test\r\n\r\n');
    let received = '';
    socket.on('data', (piece: Buffer) => (received += piece.toString()));
    await new Promise<void>((resolve) => socket.once('close', () => resolve()).on('error', () => undefined));
    expect(received).toBe('');
    expect(tickets).toEqual([]);
    expect(await shakeHands(port, { ALPNProtocols: ['h2'] })).toMatch(/NO_APPLICATION_PROTOCOL|ECONNRESET/);
  },
);
