import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { oneGateway, type Owner } from '../../harness/gateway.ts';
import { readScripts, startScriptedUpstream } from '../../harness/scripted-upstream.ts';

const load = oneGateway();

const dir = mkdtempSync(join(tmpdir(), 'gw-proxy-tls-'));
const openssl = (args: string): void =>
  void execFileSync('openssl', args.split(' '), { cwd: dir, stdio: 'ignore' });
const pem = (name: string): string => readFileSync(join(dir, name), 'utf8');

/** An authority, a certificate for `up.example`, one for a client, and one without a known issuer. */
beforeAll(() => {
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30';
  openssl(`req -x509 ${key} -keyout ca.key -out ca.pem -subj /CN=ca`);
  for (const name of ['up', 'client']) {
    openssl(
      `req ${key} -keyout ${name}.key -out ${name}.csr -subj /CN=${name}.example -addext subjectAltName=DNS:${name}.example`,
    );
    openssl(
      `x509 -req -in ${name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -copy_extensions copy -out ${name}.pem`,
    );
  }
  openssl(`req -x509 ${key} -keyout other.key -out other.pem -subj /CN=up.example`);
  writeFileSync(join(dir, 'both.pem'), pem('client.pem') + pem('client.key'));
  openssl('ec -in client.key -aes256 -passout pass:secret -out locked.key');
});

afterAll(() => rmSync(dir, { recursive: true }));

const showHandshake: RequestListener = (request, response) => {
  const socket = request.socket as TLSSocket & { servername?: string };
  const { CN } = socket.getPeerCertificate().subject ?? {};
  response.end(`${socket.servername || '-'} ${socket.getProtocol()} ${CN?.toString() ?? '-'}`);
};

/** An upstream over TLS; without a listener its response describes the handshake. */
async function startTls(
  t: Owner,
  options: ServerOptions = {},
  listener: RequestListener = showHandshake,
): Promise<number> {
  const server = createServer({ key: pem('up.key'), cert: pem('up.pem'), ...options }, listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  });
  return (server.address() as AddressInfo).port;
}

const cases: readonly {
  it: string;
  conf: string;
  /** Directives of `http`. */
  http?: string;
  server?: () => ServerOptions;
  body?: string;
  log?: RegExp;
}[] = [
  { it: 'sends no name and verifies nothing by default', conf: '', body: '- TLSv1.3 -' },
  {
    it: 'sends the name that is configured',
    conf: 'proxy_ssl_server_name on; proxy_ssl_name up.example;',
    body: 'up.example TLSv1.3 -',
  },
  {
    it: 'does not send an address as a name',
    conf: 'proxy_ssl_server_name on;',
    body: '- TLSv1.3 -',
  },
  {
    it: 'does not send an IPv6 address as a name',
    conf: 'proxy_ssl_server_name on; proxy_ssl_name [::1]:443;',
    body: '- TLSv1.3 -',
  },
  {
    it: 'takes the name from variables',
    conf: 'proxy_ssl_server_name on; proxy_ssl_name $arg_name.example;',
    body: 'up.example TLSv1.3 -',
  },
  {
    it: 'uses no newer version than configured',
    conf: 'proxy_ssl_protocols TLSv1.2;',
    body: '- TLSv1.2 -',
  },
  {
    it: 'takes the versions of OpenSSL commands',
    conf: 'proxy_ssl_conf_command MaxProtocol TLSv1.2;',
    body: '- TLSv1.2 -',
  },
  {
    it: 'sends the client certificate',
    conf: `proxy_ssl_certificate ${dir}/client.pem; proxy_ssl_certificate_key ${dir}/client.key;`,
    server: () => ({ requestCert: true, ca: pem('ca.pem') }),
    body: '- TLSv1.3 client.example',
  },
  {
    it: 'sends no inherited certificate where an empty name cancels it',
    conf: `proxy_ssl_certificate ""; proxy_ssl_certificate_key "";`,
    http: `proxy_ssl_certificate ${dir}/client.pem; proxy_ssl_certificate_key ${dir}/client.key;`,
    server: () => ({ requestCert: true, rejectUnauthorized: false, ca: pem('ca.pem') }),
    body: '- TLSv1.3 -',
  },
  {
    it: 'decrypts the key of the client certificate',
    conf: `proxy_ssl_certificate ${dir}/client.pem; proxy_ssl_certificate_key ${dir}/locked.key; proxy_ssl_password_file password;`,
    server: () => ({ requestCert: true, ca: pem('ca.pem') }),
    body: '- TLSv1.3 client.example',
  },
  {
    it: 'decrypts the key with the second passphrase',
    conf: `proxy_ssl_certificate ${dir}/client.pem; proxy_ssl_certificate_key ${dir}/locked.key; proxy_ssl_password_file passwords;`,
    server: () => ({ requestCert: true, ca: pem('ca.pem') }),
    body: '- TLSv1.3 client.example',
  },
  {
    it: 'sends the certificate of an OpenSSL command instead',
    conf: `proxy_ssl_conf_command Certificate ${dir}/client.pem; proxy_ssl_conf_command PrivateKey ${dir}/client.key;`,
    http: `proxy_ssl_certificate ${dir}/up.pem; proxy_ssl_certificate_key ${dir}/up.key;`,
    server: () => ({ requestCert: true, ca: pem('ca.pem') }),
    body: '- TLSv1.3 client.example',
  },
  {
    it: 'finds the key of an OpenSSL command in the file of its certificate',
    conf: `proxy_ssl_conf_command certificate ${dir}/both.pem;`,
    server: () => ({ requestCert: true, ca: pem('ca.pem') }),
    body: '- TLSv1.3 client.example',
  },
  {
    it: 'accepts a certificate that its authority issued',
    conf: `proxy_ssl_verify on; proxy_ssl_trusted_certificate ${dir}/ca.pem; proxy_ssl_name up.example;`,
    body: '- TLSv1.3 -',
  },
  {
    it: 'refuses a certificate for another name',
    conf: `proxy_ssl_verify on; proxy_ssl_trusted_certificate ${dir}/ca.pem; proxy_ssl_name wrong.example;`,
    log: /upstream SSL certificate does not match "wrong\.example" while SSL handshaking to upstream/,
  },
  {
    it: 'refuses a certificate of an unknown issuer',
    conf: `proxy_ssl_verify on; proxy_ssl_trusted_certificate ${dir}/ca.pem; proxy_ssl_name up.example;`,
    server: () => ({ key: pem('other.key'), cert: pem('other.pem') }),
    log: /upstream SSL certificate verify error: \(18:self-signed certificate\) while SSL handshaking to upstream/,
  },
  {
    it: 'refuses versions that are not configured',
    conf: 'proxy_ssl_protocols TLSv1.3;',
    server: () => ({ maxVersion: 'TLSv1.2' }),
    log: /SSL_do_handshake\(\) failed \(SSL: .*\) while SSL handshaking to upstream/,
  },
];

for (const { it, conf, http = '', server, body, log } of cases) {
  test(`TLS to an upstream ${it}`, async (t) => {
    const port = await startTls(t, server?.());
    const gw = await load(
      t,
      `${http} server { location / { ${conf} proxy_pass https://127.0.0.1:${port}; } }`,
      {
        password: 'secret\n',
        passwords: 'wrong\nsecret\n',
      },
    );
    await gw.expect('GET /?name=up', body === undefined ? { status: 502 } : { status: 200, body });
    if (log) await gw.waitForLog(log);
  });
}

const sessions: readonly { it: string; conf: string; resumed: string }[] = [
  { it: 'resumes the session of the previous connection', conf: '', resumed: 'no yes yes' },
  { it: 'starts new sessions when reuse is off', conf: 'proxy_ssl_session_reuse off;', resumed: 'no no no' },
  {
    it: 'starts new sessions when it verifies, because a resumed session has no chain to verify',
    conf: `proxy_ssl_verify on; proxy_ssl_trusted_certificate ${dir}/ca.pem; proxy_ssl_name up.example;`,
    resumed: 'no no no',
  },
  {
    it: 'does not resume a session of another name',
    conf: 'proxy_ssl_server_name on; proxy_ssl_name $arg_round.example;',
    resumed: 'no no no',
  },
];

for (const { it, conf, resumed } of sessions) {
  test(`TLS to an upstream ${it}`, async (t) => {
    const port = await startTls(t, {}, ({ socket }, response) => {
      response.setHeader('Connection', 'close');
      response.end((socket as TLSSocket).isSessionReused() ? 'yes' : 'no');
    });
    const gw = await load(t, `server { location / { ${conf} proxy_pass https://127.0.0.1:${port}; } }`);
    const said: string[] = [];
    for (let round = 0; round < 3; round++) {
      const response = await fetch(`http://127.0.0.1:${gw.port}/?round=${round}`);
      said.push(await response.text());
    }
    expect(said.join(' ')).toBe(resumed);
  });
}

test('the client certificate may depend on the request', async (t) => {
  const port = await startTls(t, { requestCert: true, rejectUnauthorized: false, ca: pem('ca.pem') });
  const gw = await load(
    t,
    `server { location / {
       proxy_ssl_certificate ${dir}/$arg_name.pem; proxy_ssl_certificate_key ${dir}/$arg_name.key;
       proxy_pass https://127.0.0.1:${port};
     } location /named { proxy_ssl_certificate $arg_name; proxy_ssl_certificate_key $arg_name;
       proxy_pass https://127.0.0.1:${port}; } }`,
  );
  await gw.expect('GET /?name=client', { body: '- TLSv1.3 client.example' });
  await gw.expect('GET /?name=up', { body: '- TLSv1.3 up.example' });
  await gw.expect('GET /?name=client', { body: '- TLSv1.3 client.example' });
  await gw.expect('GET /named', { body: '- TLSv1.3 -' });
  const log = 'cannot load certificate "';
  await gw.expect('GET /?name=none', { status: 500 });
  await gw.waitForLog(new RegExp(`${log}${dir}/none.pem": BIO_new_file\\(\\) failed \\(2: No such file`));
  await gw.expect('GET /?name=ca', { status: 200 });
  await gw.expect('GET /?name=../x', { status: 500 });
  await gw.waitForLog(/unsafe certificate name ".*\.\.\/x\.pem"/);
  writeFileSync(join(dir, 'garbage.pem'), 'no certificate');
  writeFileSync(join(dir, 'garbage.key'), 'no key');
  await gw.expect('GET /?name=garbage', { status: 500 });
  await gw.waitForLog(new RegExp(`${log}${dir}/garbage.pem": .*SSL`));
});

test('a file of the client certificate that has changed is read again', async (t) => {
  const port = await startTls(t, { requestCert: true, rejectUnauthorized: false, ca: pem('ca.pem') });
  const gw = await load(
    t,
    `server { location / {
       proxy_ssl_certificate ${dir}/$arg_name.pem; proxy_ssl_certificate_key ${dir}/$arg_name.key;
       proxy_pass https://127.0.0.1:${port};
     } }`,
  );
  for (const name of ['client', 'up']) {
    writeFileSync(join(dir, 'rotated.pem'), pem(`${name}.pem`));
    writeFileSync(join(dir, 'rotated.key'), pem(`${name}.key`));
    await gw.expect('GET /?name=rotated', { body: `- TLSv1.3 ${name}.example` });
  }
});

for (const [it, cache, shown] of [
  ['off: the files are read each time', 'off', ['client.example', 'up.example', '500']],
  [
    'a pair that was read serves on',
    'max=2 valid=1m',
    ['client.example', 'client.example', 'client.example'],
  ],
] as const)
  test(`proxy_ssl_certificate_cache ${it}`, async (t) => {
    const port = await startTls(t, { requestCert: true, rejectUnauthorized: false, ca: pem('ca.pem') });
    const gw = await load(
      t,
      `proxy_ssl_certificate_cache ${cache}; server { location / {
         proxy_ssl_certificate ${dir}/$arg_name.pem; proxy_ssl_certificate_key ${dir}/$arg_name.key;
         proxy_pass https://127.0.0.1:${port};
       } }`,
    );
    const said = async (): Promise<string> => {
      const { status, body } = await gw.fetch('/?name=kept');
      return status === 200 ? (body.split(' ').at(-1) ?? '') : String(status);
    };
    const seen: string[] = [];
    for (const name of ['client', 'up']) {
      for (const end of ['pem', 'key']) writeFileSync(join(dir, `kept.${end}`), pem(`${name}.${end}`));
      seen.push(await said());
    }
    for (const end of ['pem', 'key']) rmSync(join(dir, `kept.${end}`));
    expect([...seen, await said()]).toEqual(shown);
  });

test('plain HTTP behind https is a 502', async (t) => {
  const upstream = await startScriptedUpstream(t, readScripts(''), 'HTTP/1.1 400 Bad Request\r\n\r\n');
  const gw = await load(t, `server { location / { proxy_pass https://127.0.0.1:${upstream.port}; } }`);
  await gw.expect('GET /', { status: 502 });
  await gw.waitForLog(/while SSL handshaking to upstream/);
});
