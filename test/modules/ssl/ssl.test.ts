import { execFileSync } from 'node:child_process';
import { rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { oneGateway, startGateway, type Gateway, type Owner } from '../../harness/gateway.ts';
import { movableClock } from '../proxy/cache/origin.ts';

const load = oneGateway();

const CLOSING = 'GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n';

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
  certificates.signed('first', 'ca');
  certificates.signed('second', 'ca');
  certificates.authority('strangers');
  certificates.signed('stranger', 'strangers');
  certificates.write('ticket.key', Buffer.alloc(80, 'k'));
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

const conf = (port: number, directives: string): string => `server {
  listen 127.0.0.1:${port} ssl; ssl_certificate server.crt; ssl_certificate_key server.key; ${directives}
  location / { return 200 "$ssl_session_reused"; }
}`;

const firstFiles = () => ({
  'server.crt': certificates.read('first.crt'),
  'server.key': certificates.read('first.key'),
});

/** A TLS server with the certificate `first`, and these directives. */
const startTls = (t: Owner, directives = ''): Promise<Gateway> =>
  load(t, (_, port) => conf(port, directives), firstFiles());

async function shakeHands(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  await new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve).once('error', reject);
  });
  return socket;
}

const nameOf = (socket: TLSSocket): string => String(socket.getPeerCertificate().subject.CN);

/** Sends one request on a new connection. Returns the body and the session that a later connection can resume. */
async function visit(
  port: number,
  options: ConnectionOptions = {},
): Promise<{ body: string; session: Buffer | undefined }> {
  const socket = await shakeHands(port, options);
  let session: Buffer | undefined = socket.getSession();
  let received = '';
  socket.on('session', (given: Buffer) => (session = given));
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.write(CLOSING);
  await new Promise((resolve) => {
    socket.once('close', resolve);
  });
  return { body: received.split('\r\n\r\n')[1] ?? '', session };
}

test.runIf(HAS_OPENSSL)(
  '$ssl_curve is that of the last key exchange, also of a resumed session',
  async (t) => {
    const gw = await load(
      t,
      (_, port) => conf(port, '').replace('$ssl_session_reused', '$ssl_session_reused $ssl_curve'),
      firstFiles(),
    );
    for (const [maxVersion, later] of [
      ['TLSv1.2', 'r X25519'],
      ['TLSv1.3', 'r secp384r1'],
    ] as const) {
      const { body, session } = await visit(gw.port, { maxVersion, ecdhCurve: 'X25519:prime256v1' });
      expect(body).toBe('. X25519');
      const again = { maxVersion, ecdhCurve: 'secp384r1', ...(session && { session }) };
      expect((await visit(gw.port, again)).body).toBe(later);
    }
  },
);

const TICKETS_OFF = 'ssl_session_tickets off;';

/** `second` is for TLS 1.2 and for 1.3, where node resumes sessions by ticket only. */
const SESSIONS = [
  { it: 'with a ticket', directives: '', second: ['r', 'r'] },
  { it: 'with a ticket by a key of its own', directives: 'ssl_session_ticket_key KEY;', second: ['r', 'r'] },
  {
    it: 'from a shared cache',
    directives: `${TICKETS_OFF} ssl_session_cache shared:s:1m;`,
    second: ['r', '.'],
  },
  {
    it: 'from a cache of its own',
    directives: `${TICKETS_OFF} ssl_session_cache builtin:10;`,
    second: ['r', '.'],
  },
  { it: 'nowhere without either', directives: TICKETS_OFF, second: ['.', '.'] },
  { it: 'nowhere without a cache', directives: `${TICKETS_OFF} ssl_session_cache off;`, second: ['.', '.'] },
];

for (const { it, directives, second } of SESSIONS) {
  test.runIf(HAS_OPENSSL)(`a session is resumed ${it}`, async (t) => {
    const gw = await startTls(t, directives.replace('KEY', certificates.path('ticket.key')));
    for (const [index, maxVersion] of (['TLSv1.2', 'TLSv1.3'] as const).entries()) {
      const { body, session } = await visit(gw.port, { maxVersion });
      expect(body).toBe('.');
      const again = await visit(gw.port, { maxVersion, ...(session && { session }) });
      expect(again.body, maxVersion).toBe(second[index]);
    }
  });
}

test.runIf(HAS_OPENSSL)('with a shared cache the ticket keys change in time', async (t) => {
  const clock = movableClock(t);
  const directives = 'ssl_session_cache shared:s:1m; ssl_session_timeout 1h;';
  const files = firstFiles();
  const gw = await startGateway(t, (_, port) => conf(port, directives), { files, ...clock.options });
  const { session } = await visit(gw.port);
  expect((await visit(gw.port, { ...(session && { session }) })).body).toBe('r');
  clock.move(3600);
  expect((await visit(gw.port, { ...(session && { session }) })).body).toBe('.');
});

test.runIf(HAS_OPENSSL)('a certificate may come from a pipe, for several servers', async (t) => {
  const pipe = join(certificates.dir, `pipe-${process.pid}`);
  execFileSync('mkfifo', [pipe]);
  const feeding = writeFile(pipe, certificates.read('first.crt'));
  const files = firstFiles();
  const gw = await startGateway(
    t,
    (_, port) => `ssl_certificate ${pipe}; ssl_certificate_key server.key;
      server { listen 127.0.0.1:${port} ssl; return 200 one; }
      server { listen 127.0.0.1:${port} ssl; server_name two; return 200 two; }`,
    { files },
  );
  await feeding;
  expect((await visit(gw.port, { servername: 'two' })).body).toBe('one');
});

test.runIf(HAS_OPENSSL)(
  'a reload reads the certificate again, and open connections keep the old one',
  async (t) => {
    const gw = await startTls(t);
    const old = await shakeHands(gw.port);
    expect(nameOf(old)).toBe('first');
    writeFileSync(join(gw.dir, 'server.crt'), certificates.read('second.crt'));
    writeFileSync(join(gw.dir, 'server.key'), certificates.read('second.key'));
    expect(await gw.reload(conf(gw.port, ''))).toBe('done');
    const fresh = await shakeHands(gw.port);
    expect(nameOf(fresh)).toBe('second');
    fresh.destroy();
    let received = '';
    old.setEncoding('utf8').on('data', (text: string) => (received += text));
    old.write(CLOSING);
    await new Promise((resolve) => {
      old.once('close', resolve);
    });
    expect(received).toMatch(/^HTTP\/1\.1 200 OK/);
  },
);

test.runIf(HAS_OPENSSL)(
  'a reload with an invalid certificate is refused, and the old one stays in use',
  async (t) => {
    const gw = await startTls(t);
    writeFileSync(join(gw.dir, 'server.key'), certificates.read('second.key'));
    expect(await gw.reload(conf(gw.port, ''))).toBe('refused');
    await expect
      .poll(() => gw.output())
      .toMatch(/SSL_CTX_use_PrivateKey\(".*server\.key"\) failed \(SSL: key values mismatch\)/);
    const socket = await shakeHands(gw.port);
    expect(nameOf(socket)).toBe('first');
    socket.destroy();
  },
);

for (const [said, shown] of [
  ['on', 'first'],
  ['off', 'second'],
] as const)
  test.runIf(HAS_OPENSSL)(
    `with ssl_object_cache_inheritable ${said} a reload shows the "${shown}" content of files with the same index and time`,
    async (t) => {
      const main = `ssl_object_cache_inheritable ${said};`;
      const gw = await startGateway(t, (_, port) => conf(port, ''), { files: firstFiles(), main });
      const rewrite = (atMs: (path: string) => number): void => {
        for (const end of ['crt', 'key']) {
          const path = join(gw.dir, `server.${end}`);
          const ms = atMs(path);
          writeFileSync(path, certificates.read(`second.${end}`));
          utimesSync(path, ms / 1000, ms / 1000);
        }
      };
      rewrite((path) => statSync(path).mtimeMs);
      expect(await gw.reload(conf(gw.port, ''))).toBe('done');
      expect(nameOf(await shakeHands(gw.port))).toBe(shown);
      rewrite((path) => statSync(path).mtimeMs + 2_000);
      expect(await gw.reload(conf(gw.port, ''))).toBe('done');
      expect(nameOf(await shakeHands(gw.port))).toBe('second');
    },
  );

test.runIf(HAS_OPENSSL)('a client that does not shake hands in time is cut', async (t) => {
  const gw = await startTls(t, 'client_header_timeout 100ms;');
  const connection = await gw.connect();
  connection.write('\x16\x03\x01\x02\x00');
  expect(await connection.closed).toBe('');
});

test.runIf(HAS_OPENSSL)('a failed handshake is logged at the level info', async (t) => {
  const gw = await startTls(t, 'ssl_protocols TLSv1.3;');
  await expect(shakeHands(gw.port, { maxVersion: 'TLSv1.2' })).rejects.toThrow(/alert/);
  await gw.waitForLog(
    /\[info\] .*SSL_do_handshake\(\) failed .* while SSL handshaking, client: 127\.0\.0\.1/,
  );
});

test.runIf(HAS_OPENSSL)('a server stops gracefully with idle TLS connections', async (t) => {
  const gw = await startGateway(t, (_, port) => conf(port, ''), { files: firstFiles() });
  const socket = await shakeHands(gw.port);
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  socket.resume();
  await gw.stop('SIGQUIT');
  await expect(closed).resolves.toBe(false);
});

for (const [it, host, certificate, status] of [
  ['is valid for the default server that accepts it', 'first.example', 'stranger', 200],
  ['of the default server is not valid for another one', 'second.example', 'stranger', 421],
  ['is missing for another server when none was sent', 'second.example', '', 400],
  ['of the default server is valid for a server with the same authorities', 'third.example', 'stranger', 200],
] as const) {
  test.runIf(HAS_OPENSSL)(`without a name in the handshake a certificate ${it}`, async (t) => {
    const names = ['first.crt', 'first.key', 'ca.crt', 'strangers.crt'];
    const servers = [
      ['first', 'strangers'],
      ['second', 'ca'],
      ['third', 'strangers'],
    ] as const;
    const gw = await load(
      t,
      (_, port) =>
        `ssl_certificate first.crt; ssl_certificate_key first.key; ssl_verify_client on; ${servers
          .map(
            ([name, authority]) =>
              `server { listen 127.0.0.1:${port} ssl; server_name ${name}.example; ssl_client_certificate ${authority}.crt; return 200 $ssl_client_verify; }`,
          )
          .join('\n')}`,
      Object.fromEntries(names.map((name) => [name, certificates.read(name)])),
    );
    const own =
      certificate === ''
        ? {}
        : { cert: certificates.read(`${certificate}.crt`), key: certificates.read(`${certificate}.key`) };
    const socket = await shakeHands(gw.port, own);
    socket.end(CLOSING.replace('a.example', host));
    let received = '';
    for await (const piece of socket.setEncoding('latin1')) received += String(piece);
    expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
}

test.runIf(HAS_OPENSSL)(
  'files of certificates are read in each handshake where their names have $ssl_server_name',
  async (t) => {
    const gw = await load(
      t,
      (dir, port) => `server { listen 127.0.0.1:${port} ssl;
        ssl_certificate ${dir}/$ssl_server_name.crt; ssl_certificate_key ${dir}/\${ssl_server_name}.key;
        location / { return 200 ok; } }`,
      { 'first.crt': certificates.read('first.crt'), 'first.key': certificates.read('first.key') },
    );
    expect(nameOf(await shakeHands(gw.port, { servername: 'first' }))).toBe('first');
    await expect(shakeHands(gw.port, { servername: 'second' })).rejects.toThrow(/alert internal error/);
    await gw.waitForLog(
      /\[error\] .*cannot load certificate ".*\/second\.crt": BIO_new_file\(\) failed .*while SSL handshaking/,
    );
    // These files may appear and change while the gateway runs.
    writeFileSync(join(gw.dir, 'second.crt'), certificates.read('second.crt'));
    writeFileSync(join(gw.dir, 'second.key'), certificates.read('second.key'));
    expect(nameOf(await shakeHands(gw.port, { servername: 'second' }))).toBe('second');
    writeFileSync(join(gw.dir, 'first.crt'), certificates.read('second.crt'));
    writeFileSync(join(gw.dir, 'first.key'), certificates.read('second.key'));
    expect(nameOf(await shakeHands(gw.port, { servername: 'first' }))).toBe('second');
  },
);

test.runIf(HAS_OPENSSL)(
  'files of certificates never stand outside of their directory, whatever name a client asks for',
  async (t) => {
    const gw = await load(
      t,
      (dir, port) => `server { listen 127.0.0.1:${port} ssl;
        ssl_certificate ${dir}/in/$ssl_server_name; ssl_certificate_key ${dir}/in/$ssl_server_name;
        location / { return 200 ok; } }`,
      { 'first.crt': certificates.read('first.crt') + certificates.read('first.key') },
    );
    for (const servername of ['../first.crt', '..', '.', 'a/../../first.crt'])
      await expect(shakeHands(gw.port, { servername })).rejects.toThrow(/alert internal error/);
    await gw.waitForLog(/unsafe server name "\.\.\/first\.crt" while SSL handshaking/);
  },
);

test.runIf(HAS_OPENSSL)('a later pair replaces an earlier one with the same type of key', async (t) => {
  const gw = await load(
    t,
    (_, port) => `server { listen 127.0.0.1:${port} ssl;
        ssl_certificate server.crt; ssl_certificate_key server.key;
        ssl_certificate second.crt; ssl_certificate_key store:file:second.key;
        location / { return 200 ok; } }`,
    {
      ...firstFiles(),
      'second.crt': certificates.read('second.crt'),
      'second.key': certificates.read('second.key'),
    },
  );
  expect(nameOf(await shakeHands(gw.port))).toBe('second');
});

test.runIf(HAS_OPENSSL)('ssl_conf_command names a pair', async (t) => {
  const gw = await load(
    t,
    (_, port) =>
      conf(port, 'ssl_conf_command Certificate second.crt; ssl_conf_command PrivateKey second.key;'),
    {
      ...firstFiles(),
      'second.crt': certificates.read('second.crt'),
      'second.key': certificates.read('second.key'),
    },
  );
  expect(nameOf(await shakeHands(gw.port))).toBe('second');
});

for (const { whose, options } of [
  { whose: 'server', options: '' },
  { whose: 'client', options: 'ssl_conf_command Options -ServerPreference;' },
]) {
  test.runIf(HAS_OPENSSL)(`the order of the ${whose} counts with "${options}"`, async (t) => {
    const [first, second] = ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'];
    const gw = await startTls(
      t,
      `ssl_prefer_server_ciphers on; ssl_ciphers ${first}:${second}; ssl_protocols TLSv1.2; ${options}`,
    );
    const socket = await shakeHands(gw.port, { ciphers: `${second}:${first}`, maxVersion: 'TLSv1.2' });
    expect(socket.getCipher().name).toBe(whose === 'server' ? first : second);
    socket.destroy();
  });
}

test.runIf(HAS_OPENSSL)('ssl_stapling_file is sent to clients that ask for it', async (t) => {
  const gw = await load(t, (_, port) => conf(port, 'ssl_stapling_file staple.der;'), {
    ...firstFiles(),
    'staple.der': 'not really DER',
  });
  const asking = { port: gw.port, host: '127.0.0.1', rejectUnauthorized: false, requestOCSP: true };
  const socket = connect(asking);
  const staple = await new Promise<Buffer>((resolve) => {
    socket.once('OCSPResponse', (response: Buffer) => resolve(response));
  });
  socket.destroy();
  expect(staple.toString()).toBe('not really DER');
});

test.runIf(HAS_OPENSSL)(
  'a server without a certificate asks for none, and refuses clients without one',
  async (t) => {
    const gw = await load(
      t,
      (_, port) =>
        `${conf(port, '')} server { listen 127.0.0.1:${port} ssl; server_name b.example; ssl_verify_client on; return 200 in; }`,
      firstFiles(),
    );
    const socket = await shakeHands(gw.port, { servername: 'b.example' });
    socket.setEncoding('utf8').write('GET / HTTP/1.0\r\nHost: b.example\r\n\r\n');
    let received = '';
    for await (const text of socket) received += String(text);
    expect(received).toMatch(/^HTTP\/1\.1 400 .*No required SSL certificate was sent/s);
  },
);
