import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatFaults } from '../../../grammar/index.ts';
import { Certificates, HAS_OPENSSL } from '../../harness/certificates.ts';
import { loadConf } from '../../harness/load-faults.ts';

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('a');
  certificates.authority('b');
  certificates.lock('a', 'secret');
  certificates.write('garbage', 'nothing of use');
  certificates.write('passwords', 'wrong\nsecret\n');
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

/** `PREFIX_` is replaced by that of a protocol. `says`: the first lines of faults, without OpenSSL's reasons. */
const CASES: readonly { it: string; conf: string; says: readonly string[] }[] = [
  {
    it: 'an invalid certificate',
    conf: 'PREFIX_ssl_certificate DIR/garbage; PREFIX_ssl_certificate_key DIR/a.key;',
    says: ['cannot load certificate "DIR/garbage": PEM_read_bio_X509_AUX() failed'],
  },
  {
    it: 'an invalid key',
    conf: 'PREFIX_ssl_certificate DIR/a.crt; PREFIX_ssl_certificate_key DIR/garbage;',
    says: ['cannot load certificate key "DIR/garbage": PEM_read_bio_PrivateKey() failed'],
  },
  {
    it: 'a key without its password',
    conf: 'PREFIX_ssl_certificate DIR/a.crt; PREFIX_ssl_certificate_key DIR/a.locked;',
    says: ['cannot load certificate key "DIR/a.locked": PEM_read_bio_PrivateKey() failed'],
  },
  {
    it: 'the key of another certificate',
    conf: 'PREFIX_ssl_certificate DIR/a.crt; PREFIX_ssl_certificate_key DIR/b.key;',
    says: ['SSL_CTX_use_PrivateKey("DIR/b.key") failed'],
  },
  {
    it: 'the key of another certificate in a command',
    conf: 'PREFIX_ssl_conf_command Certificate DIR/a.crt; PREFIX_ssl_conf_command PrivateKey DIR/b.key;',
    says: ['SSL_CTX_use_PrivateKey("DIR/b.key") failed'],
  },
  {
    it: 'an invalid list',
    conf: 'PREFIX_ssl_crl DIR/garbage;',
    says: ['X509_LOOKUP_load_file("DIR/garbage") failed'],
  },
  {
    it: 'nothing that can be used',
    conf: 'PREFIX_ssl_certificate DIR/a.crt; PREFIX_ssl_certificate_key DIR/a.locked; PREFIX_ssl_password_file DIR/passwords;',
    says: [],
  },
  {
    it: 'nothing that an empty name cancels, or that has variables',
    conf: 'PREFIX_ssl_certificate ""; PREFIX_ssl_certificate_key ""; location /n { PREFIX_ssl_certificate $host; PREFIX_ssl_certificate_key DIR/garbage; PASS; }',
    says: [],
  },
];

const PROTOCOLS = [
  ['proxy', 'https'],
  ['grpc', 'grpcs'],
  ['uwsgi', 'suwsgi'],
] as const;

for (const [prefix, scheme] of PROTOCOLS) {
  for (const { it, conf, says } of CASES) {
    test.runIf(HAS_OPENSSL)(`towards upstreams (${prefix}), the load refuses ${it}`, () => {
      const { report } = loadConf(
        `events {} http { server { location / { ${conf} PASS; location /below { PASS; } } } }`
          .replaceAll('PASS', `${prefix}_pass ${scheme}://127.0.0.1:1`)
          .replaceAll('PREFIX_', `${prefix}_`)
          .replaceAll('DIR', certificates.dir),
      );
      const lines = formatFaults(report, { program: 'gw', color: false }).match(/^gw: \[emerg\] .*$/gm) ?? [];
      const bare = lines.map((line) => line.replaceAll(certificates.dir, 'DIR').replace(/ \(SSL: .*/, ''));
      expect([...new Set(bare)]).toEqual(says.map((text) => `gw: [emerg] ${text}`));
    });
  }
}
