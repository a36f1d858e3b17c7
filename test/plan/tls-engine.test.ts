import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { load } from '../../src/pipeline.ts';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('a');
  certificates.authority('b');
  certificates.authority('odd', 'ed448');
  certificates.write('ticket.key', Buffer.alloc(48, 'k'));
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

const pair = (name: string): string => `ssl_certificate ${name}.crt; ssl_certificate_key ${name}.key;`;

function loaded(main: string, http: string) {
  const confFile = join(certificates.dir, 'gw.conf');
  const text = `${main} events {} http { ${http} }`;
  return load({ confFile, name: 'gw.conf', prefix: certificates.dir, text });
}

/** A server with a pair; `$more` stands for what a case adds to it. */
const serverWith = (listen: string, more: string): string => `server { ${listen} ${pair('a')} ${more} }`;

/** Two issuers, and a port 1443 whose servers order from them. */
const issuers = [
  'acme_issuer le { uri https://ca.example/directory; state_path off; }',
  'acme_issuer alpn { uri https://ca.example/directory; state_path off; challenge tls-alpn-01; }',
].join(' ');

/** What a port with TLS may have, and stay with uWebSockets.js. */
const served = [
  'ssl_protocols TLSv1.3 TLSv1.2;',
  'ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256; ssl_prefer_server_ciphers off;',
  'ssl_session_tickets on; ssl_session_cache none; ssl_stapling off; ssl_verify_client off; ssl_ecdh_curve auto;',
  'ssl_verify_depth 2; ssl_stapling_verify on; http2 off;',
  'error_page 404 /missing; set $ssl_mine 1; return 200 $ssl_mine;',
  `} server { listen 1443 ssl; server_name b.test *.b.test; ${pair('b')}`,
  `} server { listen 1443 ssl; server_name ~^c; ${pair('a')}`,
  '} server { listen 1080; return 200 $ssl_protocol;',
  '} server { listen 1443 ssl default_server; server_name _; ssl_reject_handshake on;',
  `} ${issuers} server { listen 1443 ssl; server_name c.test *.c.test; acme_certificate le c.test;`,
  `} ${issuers} server { listen 1443 ssl; server_name c.test; acme_certificate le;
    ssl_certificate $acme_certificate; ssl_certificate_key $acme_certificate_key;`,
];

/** What keeps it with the node engine, and how it is called. */
const kept: readonly (readonly [more: string, what: string])[] = [
  ['ssl_protocols TLSv1.3;', '"ssl_protocols"'],
  ['ssl_ciphers DEFAULT@SECLEVEL=0;', '"ssl_ciphers"'],
  ['ssl_prefer_server_ciphers on;', '"ssl_prefer_server_ciphers"'],
  ['ssl_ecdh_curve prime256v1;', '"ssl_ecdh_curve"'],
  ['ssl_conf_command Options -SessionTicket;', '"ssl_conf_command"'],
  ['ssl_session_cache shared:a:1m;', '"ssl_session_cache"'],
  ['ssl_session_cache off;', '"ssl_session_cache"'],
  ['ssl_session_timeout 1d;', '"ssl_session_timeout"'],
  ['ssl_session_tickets off;', '"ssl_session_tickets"'],
  ['ssl_session_ticket_key ticket.key;', '"ssl_session_ticket_key"'],
  ['ssl_verify_client optional_no_ca;', '"ssl_verify_client"'],
  ['ssl_certificate b.crt; ssl_certificate_key b.key;', '"ssl_certificate"'],
  [`} server { listen 1443 ssl; server_name odd.test; ${pair('odd')}`, 'a key of type "ed448"'],
  ['http2 on;', 'HTTP/2'],
  ['error_page 497 https://$host$request_uri;', '"error_page 497"'],
  ['return 200 $ssl_protocol;', '"$ssl_protocol"'],
  ['} map $ssl_cipher $strong { default 1; } server { listen 1080;', '"$ssl_cipher"'],
  [
    `} server { listen 1443 ssl; server_name ~^b; ${pair('b')}`,
    'a certificate for the "server_name" of a regular expression',
  ],
  [
    `} server { listen 1443 ssl; server_name b.*; ${pair('b')}`,
    'a certificate for the "server_name" of a wildcard at the end',
  ],
  [
    `} ${issuers} server { listen 1443 ssl; server_name c.test; acme_certificate alpn;`,
    '"challenge tls-alpn-01"',
  ],
  [
    `} ${issuers} server { listen 1443 ssl; server_name c.test; acme_certificate le; acme_on_demand ask=/may;`,
    '"acme_on_demand"',
  ],
  [
    `} ${issuers} server { listen 1443 ssl; server_name c.test ~^d; acme_certificate le c.test;`,
    'a certificate for the "server_name" of a regular expression',
  ],
  [
    '} server { listen 1443 ssl; server_name c.test; ssl_certificate $host.crt; ssl_certificate_key $host.key;',
    '"ssl_certificate"',
  ],
  [`} server { listen 1443 ssl proxy_protocol; ${pair('a')}`, 'the PROXY protocol'],
];

test.runIf(HAS_OPENSSL)(
  'the engine of a port with TLS is the node engine unless the operator asks for the other one',
  () => {
    for (const [main, listen, engine] of [
      ['', 'listen 1443 ssl;', 'node'],
      ['http_engine uws;', 'listen 1443 ssl;', 'node'],
      ['http_engine auto tls;', 'listen 1443 ssl;', 'auto'],
      ['http_engine uws tls;', 'listen 1443 ssl;', 'uws'],
      ['http_engine uws tls;', 'listen 1443 ssl engine=node;', 'node'],
      ['', 'listen 1443 ssl engine=uws;', 'uws'],
      ['http_engine node;', 'listen 1443 ssl engine=uws;', 'uws'],
    ] as const) {
      const { plan, report } = loaded(main, serverWith(listen, ''));
      expect(report.faults).toEqual([]);
      expect(plan?.ports).toMatchObject([{ engine }]);
      expect(plan?.ports[0]).not.toHaveProperty('nodeOnly');
    }
  },
);

for (const more of served)
  test.runIf(HAS_OPENSSL)(`the engine of a port with TLS may be uWebSockets.js with ${more}`, () => {
    const { plan, report } = loaded('http_engine auto tls;', serverWith('listen 1443 ssl;', more));
    expect(report.faults).toEqual([]);
    expect(plan?.ports.find(({ ssl }) => ssl)).toMatchObject({ engine: 'auto' });
  });

for (const [more, what] of kept)
  test.runIf(HAS_OPENSSL)(`the engine of a port with TLS is the node engine with ${more}`, () => {
    const { plan, report } = loaded('http_engine auto tls;', serverWith('listen 1443 ssl;', more));
    expect(report.faults.map(({ severity, message, rule }) => [severity, message, rule])).toContainEqual([
      'notice',
      `0.0.0.0:1443 is served by the node engine: uWebSockets.js cannot serve ${what}`,
      'tls-on-node-engine',
    ]);
    const port = plan?.ports.find(({ ssl }) => ssl);
    expect(port?.engine).toBe('node');
    expect(port?.nodeOnly).toContain(what);

    const asked = loaded('', serverWith('listen 1443 ssl engine=uws;', more));
    expect(asked.plan).toBeUndefined();
    expect(asked.report.faults).toContainEqual(
      expect.objectContaining({ severity: 'emerg', message: `engine "uws" cannot serve ${what}` }),
    );
  });

test.runIf(HAS_OPENSSL).each([
  ['http_engine node tls;', 'invalid parameter "tls"'],
  ['http_engine auto ssl;', 'invalid parameter "ssl"'],
  ['http_engine fast tls;', 'invalid value "fast"'],
])('is not chosen by %s', (main, message) => {
  expect(loaded(main, '').report.faults).toMatchObject([{ severity: 'emerg', message }]);
});
