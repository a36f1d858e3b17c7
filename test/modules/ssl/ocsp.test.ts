import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { rmSync } from 'node:fs';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { type Gateway, oneGateway, type Owner, startGateway } from '../../harness/gateway.ts';
import { movableClock } from '../proxy/cache/origin.ts';

const load = oneGateway();

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
  certificates.authority('stranger');
  for (const name of ['server', 'good', 'revoked', 'unknown']) certificates.signed(name, 'ca');
  certificates.signed('rsa', 'ca', { kind: 'rsa' });
  const serial = (name: string): string => new X509Certificate(certificates.read(`${name}.crt`)).serialNumber;
  const line = (state: string, name: string): string =>
    `${state}\t301231235959Z\t${state === 'R' ? '240101000000Z' : ''}\t${serial(name)}\tunknown\t/CN=${name}\n`;
  certificates.write(
    'index',
    line('V', 'server') + line('V', 'rsa') + line('V', 'good') + line('R', 'revoked'),
  );
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

interface Responder {
  readonly url: string;
  /** Number of requests so far. */
  asked(): number;
}

async function listen(t: Owner, listener: RequestListener): Promise<Responder> {
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

/** The response of `openssl ocsp` to a request. */
function answer(path: string, options: string): Buffer {
  certificates.write('request.der', Buffer.from(decodeURIComponent(path.slice(1)), 'base64'));
  const args = `ocsp -index index -CA ca.crt ${options} -reqin request.der -respout response.der`;
  execFileSync('openssl', args.split(' '), { cwd: certificates.dir, stdio: 'pipe' });
  return execFileSync('cat', ['response.der'], { cwd: certificates.dir });
}

const BY_CA = '-rsigner ca.crt -rkey ca.key -nmin 60';

/** A responder of the authority. */
const startResponder = (t: Owner, options = BY_CA): Promise<Responder> =>
  listen(t, ({ url = '' }, response) =>
    response.setHeader('Content-Type', 'application/ocsp-response').end(answer(url, options)),
  );

/** A responder whose head has no carriage returns. */
async function startBareResponder(t: Owner): Promise<Responder> {
  let asked = 0;
  const server = createTcpServer((socket) => {
    let request = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      request += text;
      if (!request.endsWith('\r\n\r\n')) return;
      asked++;
      socket.write('HTTP/1.1 200 OK\nConnection: close\nContent-Type: application/ocsp-response\n\n');
      socket.end(answer(request.split(' ')[1] ?? '', BY_CA));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

const chain = (): string => certificates.read('server.crt') + certificates.read('ca.crt');

const conf = (port: number, directives: string): string => `server {
  listen 127.0.0.1:${port} ssl; ssl_certificate server.crt; ssl_certificate_key server.key; ${directives}
  location / { return 200 "$ssl_client_verify $ssl_session_reused"; }
}`;

const files = () => ({
  'server.crt': chain(),
  'server.key': certificates.read('server.key'),
  'ca.crt': certificates.read('ca.crt'),
});

const startTls = (t: Owner, directives: string): Promise<Gateway> =>
  load(t, (_, port) => conf(port, directives), files());

async function shakeHands(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  await new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve).once('error', reject);
  });
  return socket;
}

/** Returns the stapled response; `undefined` without one. */
const stapled = async (port: number): Promise<Buffer | undefined> => (await greeted(port)).staple;

/** Returns the stapled response and the serial number of the certificate. */
async function greeted(
  port: number,
  offers: ConnectionOptions = {},
): Promise<{ staple: Buffer | undefined; serial: string }> {
  let staple: Buffer | undefined;
  const options = { port, host: '127.0.0.1', rejectUnauthorized: false, requestOCSP: true, ...offers };
  const socket = connect(options as ConnectionOptions);
  socket.on('OCSPResponse', (der: Buffer) => (staple = der ?? undefined));
  await new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve).once('error', reject);
  });
  const serial = socket.getPeerCertificate().serialNumber;
  socket.destroy();
  return { staple, serial };
}

/** Status and body of one request with the certificate of a client, and the session. */
async function visit(
  port: number,
  name: string,
  options: ConnectionOptions = {},
): Promise<{ said: string; session: Buffer | undefined }> {
  const [cert, key] = [certificates.read(`${name}.crt`), certificates.read(`${name}.key`)];
  const socket = await shakeHands(port, { cert, key, ...options });
  let session: Buffer | undefined = socket.getSession();
  let received = '';
  socket.on('session', (given: Buffer) => (session = given));
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.write('GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n');
  await new Promise((resolve) => {
    socket.once('close', resolve);
  });
  const [head = '', body = ''] = received.split('\r\n\r\n');
  const [, status] = head.split(' ');
  return { said: status === '200' ? body : `${status}`, session };
}

for (const [it, start] of [
  ['of the responder', startResponder],
  ['with bare line feeds in its head', startBareResponder],
] as const)
  test.runIf(HAS_OPENSSL)(`a response ${it} is stapled once it is there`, async (t) => {
    const responder = await start(t);
    const gw = await startTls(
      t,
      `ssl_stapling on; ssl_stapling_verify on; ssl_stapling_responder ${responder.url};`,
    );
    expect(await stapled(gw.port)).toBeUndefined();
    await expect.poll(() => stapled(gw.port)).toBeInstanceOf(Buffer);
    await stapled(gw.port);
    expect(responder.asked()).toBe(1);
  });

/** Offers of RSA and elliptic curves, by which the server chooses a certificate. */
const OFFERS: readonly (ConnectionOptions & { readonly it: string })[] = [
  { it: 'whatever it likes' },
  { it: 'RSA alone', sigalgs: 'RSA-PSS+SHA256:RSA+SHA256' },
  { it: 'RSA before curves', sigalgs: 'RSA-PSS+SHA256:ECDSA+SHA256' },
  { it: 'a curve that the key is not on', sigalgs: 'ECDSA+SHA384:RSA-PSS+SHA256' },
  { it: 'TLS 1.2', maxVersion: 'TLSv1.2' },
  { it: 'ciphers for RSA', maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' },
  {
    it: 'ciphers for RSA before others',
    maxVersion: 'TLSv1.2',
    ciphers: 'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256',
  },
  { it: 'no curve of the key', maxVersion: 'TLSv1.2', ecdhCurve: 'X25519' },
  { it: 'signatures of RSA in TLS 1.2', maxVersion: 'TLSv1.2', sigalgs: 'RSA+SHA256' },
];

const PAIRS: readonly (readonly [it: string, ...pairs: string[]])[] = [
  ['RSA last', 'server', 'rsa'],
  ['RSA first', 'rsa', 'server'],
];

for (const [it, ...pairs] of PAIRS) {
  for (const settings of ['', 'ssl_prefer_server_ciphers on;', 'ssl_ciphers ECDHE-RSA-AES128-GCM-SHA256;'])
    test.runIf(HAS_OPENSSL)(
      `the staple is that of the pair that is shown (${it}, "${settings}")`,
      async (t) => {
        const responder = await startResponder(t);
        const said = pairs.map((name) => `ssl_certificate ${name}.chain; ssl_certificate_key ${name}.key;`);
        const gw = await load(
          t,
          (_, port) => `server { listen 127.0.0.1:${port} ssl; ${said.join(' ')} ${settings} return 200 "";
          ssl_stapling on; ssl_stapling_responder ${responder.url}; }`,
          Object.fromEntries(
            pairs.flatMap((name) => [
              [`${name}.chain`, certificates.read(`${name}.crt`) + certificates.read('ca.crt')],
              [`${name}.key`, certificates.read(`${name}.key`)],
            ]),
          ),
        );
        for (const { it: offered, ...options } of OFFERS) {
          const about = async (): Promise<string> => {
            const { staple, serial } = await greeted(gw.port, options);
            return staple ? String(staple.includes(Buffer.from(serial, 'hex'))) : 'none';
          };
          await expect.poll(about, { message: offered }).toBe('true');
        }
      },
    );
}

const unstapled: readonly { it: string; start: (t: Owner) => Promise<Responder>; log: RegExp }[] = [
  {
    it: 'signed by another authority',
    start: (t) => startResponder(t, '-rsigner stranger.crt -rkey stranger.key -nmin 60'),
    log: /OCSP response not signed by an authorized responder while requesting certificate status/,
  },
  {
    it: 'that is garbage',
    start: (t) =>
      listen(t, (_, response) =>
        response.setHeader('Content-Type', 'application/ocsp-response').end('no DER'),
      ),
    log: /while requesting certificate status/,
  },
  {
    it: 'of another type',
    start: (t) => listen(t, (_, response) => response.end('hello')),
    log: /OCSP responder sent invalid "Content-Type" header/,
  },
  {
    it: 'that is too long',
    start: (t) =>
      listen(t, (_, response) =>
        response.setHeader('Content-Type', 'application/ocsp-response').end(Buffer.alloc(100_000)),
      ),
    log: /OCSP responder sent too long a response/,
  },
  {
    it: 'with an error status',
    start: (t) => listen(t, (_, response) => response.writeHead(500).end()),
    log: /OCSP responder sent the status 500/,
  },
];

for (const { it, start, log } of unstapled) {
  test.runIf(HAS_OPENSSL)(`a response ${it} is not stapled`, async (t) => {
    const responder = await start(t);
    const gw = await startTls(t, `ssl_stapling on; ssl_stapling_responder ${responder.url};`);
    expect(await stapled(gw.port)).toBeUndefined();
    await gw.waitForLog(log);
    expect(await stapled(gw.port)).toBeUndefined();
    expect(responder.asked()).toBe(1);
  });
}

test.runIf(HAS_OPENSSL)('a response whose time has passed is not stapled', async (t) => {
  const clock = movableClock(t);
  const responder = await startResponder(t);
  const gw = await startGateway(
    t,
    (_, port) => conf(port, `ssl_stapling on; ssl_stapling_responder ${responder.url};`),
    {
      files: files(),
      ...clock.options,
    },
  );
  await stapled(gw.port);
  await expect.poll(() => stapled(gw.port)).toBeInstanceOf(Buffer);
  clock.move(4 * 3600);
  expect(await stapled(gw.port)).toBeUndefined();
  await gw.waitForLog(/OCSP response is not valid now while requesting certificate status/);
});

test.runIf(HAS_OPENSSL)('stapling without a responder or an issuer is told at load', async (t) => {
  const gw = await startTls(t, 'ssl_stapling on;');
  await expect
    .poll(() => gw.output())
    .toMatch(/"ssl_stapling" ignored, no OCSP responder URL in the certificate ".*server\.crt"/);
  expect(await stapled(gw.port)).toBeUndefined();
  const lone = { ...files(), 'server.crt': certificates.read('server.crt') };
  const other = await startGateway(t, (_, port) => conf(port, 'ssl_stapling on;'), { files: lone });
  expect(other.output()).toMatch(
    /"ssl_stapling" ignored, issuer certificate not found for certificate ".*server\.crt"/,
  );
});

const VERIFY = 'ssl_verify_client on; ssl_client_certificate ca.crt; error_page 495 =200 /;';

test.runIf(HAS_OPENSSL)('the status of client certificates is asked for and kept', async (t) => {
  const responder = await startResponder(t);
  const gw = await startTls(
    t,
    `${VERIFY} ssl_ocsp leaf; ssl_ocsp_responder ${responder.url}/; ssl_ocsp_cache shared:o:1m;`,
  );
  expect((await visit(gw.port, 'good')).said).toBe('SUCCESS .');
  expect((await visit(gw.port, 'revoked')).said).toBe('FAILED:certificate revoked .');
  expect((await visit(gw.port, 'unknown')).said).toBe('FAILED:certificate status unknown .');
  expect(responder.asked()).toBe(3);
  const { session } = await visit(gw.port, 'good');
  expect((await visit(gw.port, 'good', { ...(session && { session }) })).said).toBe('SUCCESS r');
  expect((await visit(gw.port, 'revoked')).said).toBe('FAILED:certificate revoked .');
  expect(responder.asked()).toBe(3);
});

for (const mode of ['on', 'leaf'])
  test.runIf(HAS_OPENSSL)(`a status comes with bare line feeds in its head (ssl_ocsp ${mode})`, async (t) => {
    const responder = await startBareResponder(t);
    const gw = await startTls(t, `${VERIFY} ssl_ocsp ${mode}; ssl_ocsp_responder ${responder.url};`);
    expect((await visit(gw.port, 'good')).said).toBe('SUCCESS .');
    expect((await visit(gw.port, 'revoked')).said).toBe('FAILED:certificate revoked .');
  });

test.runIf(HAS_OPENSSL)('without a cache each connection asks, those of resumed sessions too', async (t) => {
  const responder = await startResponder(t);
  const gw = await startTls(t, `${VERIFY} ssl_ocsp on; ssl_ocsp_responder ${responder.url};`);
  const { said, session } = await visit(gw.port, 'good');
  expect(said).toBe('SUCCESS .');
  expect((await visit(gw.port, 'good', { ...(session && { session }) })).said).toBe('SUCCESS r');
  expect(responder.asked()).toBe(2);
});

test.runIf(HAS_OPENSSL)('a client whose status cannot be had gets a 400', async (t) => {
  const gw = await startTls(
    t,
    'ssl_verify_client on; ssl_client_certificate ca.crt; ssl_ocsp leaf; ssl_ocsp_responder http://127.0.0.1:1;',
  );
  expect((await visit(gw.port, 'good')).said).toBe('400');
  await gw.waitForLog(/ECONNREFUSED 127.0.0.1:1 while requesting certificate status/);
});

test.runIf(HAS_OPENSSL)('a responder that stalls holds back nobody else', async (t) => {
  const responder = await listen(t, () => undefined);
  const gw = await startTls(
    t,
    `ssl_verify_client optional; ssl_client_certificate ca.crt; ssl_ocsp leaf; ssl_ocsp_responder ${responder.url};`,
  );
  const waiting = await shakeHands(gw.port, {
    cert: certificates.read('good.crt'),
    key: certificates.read('good.key'),
  });
  let early = '';
  waiting.on('error', () => undefined).on('data', (bytes: Buffer) => (early += bytes.toString()));
  waiting.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
  await expect.poll(() => responder.asked()).toBe(1);
  const anonymous = await shakeHands(gw.port);
  let received = '';
  anonymous.setEncoding('utf8').on('data', (text: string) => (received += text));
  anonymous.write('GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n');
  await expect.poll(() => received).toMatch(/NONE \.$/);
  expect(early).toBe('');
  waiting.destroy();
});
