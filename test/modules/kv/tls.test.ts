import { beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { oneGateway } from '../../harness/gateway.ts';
import { freePort } from '../../harness/ports.ts';
import { redis } from '../../harness/redis.ts';

const load = oneGateway();
const files = new Certificates();
const at = (name: string): string => files.path(name);

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  files.authority('ca');
  files.authority('other');
  files.signed('store', 'ca', { names: ['store.test'] });
  files.signed('local', 'ca', { names: ['localhost'] });
  files.signed('expired', 'ca', { names: ['store.test'], days: -1 });
  files.signed('revoked', 'ca', { names: ['store.test'] });
  files.signed('middle', 'ca', { isAuthority: true });
  files.signed('below', 'middle', { names: ['store.test'] });
  files.write('below.crt', files.read('below.crt') + files.read('middle.crt'));
  files.signed('gw', 'ca');
  files.signed('stranger', 'other');
  files.lock('gw', 'sesame');
  files.write('passwords', 'wrong\nsesame\n');
  files.revoke('ca', 'revoked');
});

const ports = new Map<string, Promise<number>>();

/** Returns the TLS port of a Redis with a certificate; other words are settings (`auth-clients yes`). */
function storeWith(certificate: string, ...settings: readonly string[]): Promise<number> {
  const key = [certificate, ...settings].join(' ');
  const port = ports.get(key) ?? openStore(certificate, settings);
  ports.set(key, port);
  return port;
}

async function openStore(certificate: string, [clients = 'no', ...more]: readonly string[]): Promise<number> {
  const port = await freePort();
  const pair = ['--tls-cert-file', at(`${certificate}.crt`), '--tls-key-file', at(`${certificate}.key`)];
  const asks = ['--tls-ca-cert-file', at('ca.crt'), '--tls-auth-clients', clients];
  const { client } = await redis('--tls-port', String(port), ...pair, ...asks, ...more);
  await client.set('k', 'v');
  return port;
}

const TRUSTED = 'kv_ssl_trusted_certificate DIR/ca.crt;';
const NAMED = `${TRUSTED} kv_ssl_name store.test;`;
const SHOWN = 'kv_ssl_certificate DIR/gw.crt;';

const cases: readonly {
  it: string;
  store: readonly [certificate: string, ...settings: string[]];
  conf?: string;
  host?: string;
  /** What the log says about the connection that fails. */
  refused?: RegExp;
}[] = [
  { it: 'a store of its own authority', store: ['store'], conf: NAMED },
  { it: 'the name of the address', store: ['local'], conf: TRUSTED, host: 'localhost' },
  {
    it: 'not a store of another authority',
    store: ['store'],
    conf: 'kv_ssl_trusted_certificate DIR/other.crt; kv_ssl_name store.test;',
    refused: /SSL certificate verify error: \(19:self-signed certificate in certificate chain\)/,
  },
  {
    it: 'not a store whose authority nobody knows',
    store: ['store'],
    conf: 'kv_ssl_name store.test;',
    refused: /SSL certificate verify error: \(19:self-signed certificate in certificate chain\)/,
  },
  {
    it: 'not a store with another name',
    store: ['store'],
    conf: `${TRUSTED} kv_ssl_name other.test;`,
    refused:
      /SSL certificate does not match: Host: other\.test\. is not in the cert's altnames: DNS:store\.test/,
  },
  {
    it: 'not a store without the address in its certificate',
    store: ['store'],
    conf: TRUSTED,
    refused: /SSL certificate does not match: IP: 127\.0\.0\.1 is not in the cert's list/,
  },
  {
    it: 'not an expired certificate',
    store: ['expired'],
    conf: NAMED,
    refused: /SSL certificate verify error: \(10:certificate has expired\)/,
  },
  { it: 'any certificate without verification', store: ['expired'], conf: 'kv_ssl_verify off;' },
  { it: 'a certificate that is not revoked', store: ['store'], conf: `${NAMED} kv_ssl_crl DIR/ca.crl;` },
  {
    it: 'not a revoked certificate',
    store: ['revoked'],
    conf: `${NAMED} kv_ssl_crl DIR/ca.crl;`,
    refused: /SSL certificate verify error: \(23:certificate revoked\)/,
  },
  { it: 'an authority between', store: ['below'], conf: `${NAMED} kv_ssl_verify_depth 1;` },
  {
    it: 'not more authorities between than are allowed',
    store: ['below'],
    conf: `${NAMED} kv_ssl_verify_depth 0;`,
    refused: /SSL certificate verify error: \(22:certificate chain too long\)/,
  },
  {
    it: 'a store that wants a certificate',
    store: ['store', 'yes'],
    conf: `${NAMED} ${SHOWN} kv_ssl_certificate_key DIR/gw.key;`,
  },
  {
    it: 'a store that wants a certificate, with an encrypted key',
    store: ['store', 'yes'],
    conf: `${NAMED} ${SHOWN} kv_ssl_certificate_key DIR/gw.locked; kv_ssl_password_file DIR/passwords;`,
  },
  {
    it: 'not a store that wants a certificate, without one',
    store: ['store', 'yes'],
    conf: NAMED,
    refused: /SSL handshake failed \(tlsv13 alert certificate required\)|wants another client certificate/,
  },
  {
    it: 'not a store that wants a certificate of another authority',
    store: ['store', 'yes'],
    conf: `${NAMED} kv_ssl_certificate DIR/stranger.crt; kv_ssl_certificate_key DIR/stranger.key;`,
    refused: /SSL handshake failed \(tlsv1 alert unknown ca\)|wants another client certificate/,
  },
  { it: 'an older version', store: ['store'], conf: `${NAMED} kv_ssl_protocols TLSv1.2;` },
  {
    it: 'not a store with newer versions only',
    store: ['store', 'no', '--tls-protocols', 'TLSv1.3'],
    conf: `${NAMED} kv_ssl_protocols TLSv1.2;`,
    refused: /SSL handshake failed \(tlsv1 alert protocol version\)/,
  },
  {
    it: 'not a store without the ciphers',
    store: ['store', 'no', '--tls-ciphers', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
    conf: `${NAMED} kv_ssl_protocols TLSv1.2; kv_ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384;`,
    refused: /SSL handshake failed \((?:sslv3|ssl\/tls) alert handshake failure\)/,
  },
];

for (const { it, store, conf = '', host = '127.0.0.1', refused } of cases) {
  test.runIf(HAS_OPENSSL)(`kv over TLS takes ${it}`, async (t) => {
    const port = await storeWith(...store);
    const tls = conf.replaceAll('DIR', files.dir);
    const gw = await load(t, '');
    await gw.reload(`server { location / { kv_pass rediss://${host}:${port}; kv_key k; ${tls} } }`);
    if (!refused) return void (await gw.expect('GET /', { status: 200, body: '{"value":"v"}' }));
    await gw.expect('GET /', { status: 502, body: '{"error":"connection_failed"}' });
    await gw.waitForLog(new RegExp(`kv: no connection to ${host}:${port}: (?:${refused.source})`));
  });
}

test('a store without TLS is named as the reason when TLS is asked of it', async (t) => {
  const { port } = await redis();
  const gw = await load(t, '');
  await gw.reload(
    `server { location / { kv_pass rediss://127.0.0.1:${port}; kv_key k; kv_connect_timeout 100ms; } }`,
  );
  await gw.expect('GET /', { status: 502 });
  await gw.waitForLog(/it accepts connections but does not answer the TLS handshake/);
});

test.runIf(HAS_OPENSSL)('kv over TLS reaches an upstream, and a store that a request names', async (t) => {
  const port = await storeWith('store');
  const gw = await load(
    t,
    `upstream cache { server 127.0.0.1:${port}; }
     kv_ssl_trusted_certificate ${at('ca.crt')};
     kv_ssl_name store.test;
     server {
       location /upstream { kv_pass rediss://cache; kv_key k; }
       location /named { kv_allow_hosts 127.0.0.1; kv_pass rediss://127.0.0.1:$arg_port; kv_key k; }
       location /strict { kv_allow_hosts 127.0.0.1; kv_pass rediss://127.0.0.1:$arg_port; kv_key k; kv_ssl_name other.test; }
     }`,
  );
  await gw.expect('GET /upstream', { status: 200, body: '{"value":"v"}' });
  await gw.expect(`GET /named?port=${port}`, { status: 200, body: '{"value":"v"}' });
  await gw.expect(`GET /strict?port=${port}`, { status: 502 });
});

test.runIf(HAS_OPENSSL)('a reload reads the certificates again', async (t) => {
  const port = await storeWith('store');
  files.write('trusted.crt', files.read('other.crt'));
  const conf = `server { location / { kv_pass rediss://127.0.0.1:${port}; kv_key k; kv_ssl_name store.test; kv_ssl_trusted_certificate ${at('trusted.crt')}; } }`;
  const gw = await load(t, conf);
  await gw.expect('GET /', { status: 502 });
  files.write('trusted.crt', files.read('ca.crt'));
  expect(await gw.reload(gw.confOf(conf))).toBe('done');
  await gw.expect('GET /', { status: 200, body: '{"value":"v"}' });
});

const faults: readonly { it: string; conf: string; message: RegExp }[] = [
  {
    it: 'that is not there',
    conf: 'kv_ssl_trusted_certificate DIR/missing.crt;',
    message: /cannot load certificate ".*missing\.crt": open\(\) failed \(2: No such file or directory\)/,
  },
  {
    it: 'without a certificate',
    conf: 'kv_ssl_trusted_certificate DIR/gw.key;',
    message: /cannot load certificate ".*gw\.key": PEM_read_bio_X509_AUX\(\) failed/,
  },
  {
    it: 'that is empty',
    conf: 'kv_ssl_trusted_certificate DIR/empty;',
    message: /no certificate in ".*empty"/,
  },
  {
    it: 'of a certificate without its key',
    conf: SHOWN,
    message: /no "kv_ssl_certificate_key" is defined for certificate ".*gw\.crt"/,
  },
  {
    it: 'of a key without its certificate',
    conf: 'kv_ssl_certificate_key DIR/gw.key;',
    message: /no "kv_ssl_certificate" is defined for certificate key ".*gw\.key"/,
  },
  {
    it: 'of the key of another certificate',
    conf: `${SHOWN} kv_ssl_certificate_key DIR/store.key;`,
    message: /SSL_CTX_use_PrivateKey\(".*store\.key"\) failed \(SSL: key values mismatch\)/,
  },
  {
    it: 'of an encrypted key without its password',
    conf: `${SHOWN} kv_ssl_certificate_key DIR/gw.locked;`,
    message: /cannot load certificate key ".*gw\.locked": PEM_read_bio_PrivateKey\(\) failed/,
  },
  {
    it: 'without a revocation list',
    conf: 'kv_ssl_crl DIR/ca.crt;',
    message: /X509_LOOKUP_load_file\(".*"\) failed/,
  },
];
for (const { it, conf, message } of faults) {
  test.runIf(HAS_OPENSSL)(`kv over TLS refuses a file ${it}`, async (t) => {
    files.write('empty', '');
    const gw = await load(t, '');
    const tls = conf.replaceAll('DIR', files.dir);
    expect(await gw.reload(`server { location / { kv_pass rediss://127.0.0.1; ${tls} } }`)).toBe('refused');
    expect(gw.output() + gw.errorLog()).toMatch(message);
    await gw.reload('');
  });
}
