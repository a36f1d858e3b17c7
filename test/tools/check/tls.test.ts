import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { weaknessesOf } from '../../../src/tools/check/rules/ciphers.ts';
import { findingsIn, testRule } from './findings-in.ts';

const inHttp = { in: 'http' } as const;
const files = {
  'a.crt': { names: ['a.example', '*.b.example'], days: 90 },
  'a.key': { keyOf: 'a.crt' },
} as const;
const TLS = 'listen 127.0.0.1:8443 ssl;\nssl_certificate a.crt;\nssl_certificate_key a.key;';
const PUBLIC = TLS.replace('127.0.0.1:8443', '443');

testRule('weak-protocols', [
  {
    it: 'keeps the strong ones',
    files,
    text: `${TLS}\nssl_protocols SSLv3 TLSv1 TLSv1.2;`,
    says: ['"ssl_protocols" allows SSLv3, TLSv1'],
    fixed: `${TLS}\nssl_protocols TLSv1.2;`,
  },
  {
    it: 'names strong ones where there is none',
    files,
    text: `${TLS}\nssl_protocols TLSv1.1;`,
    says: ['"ssl_protocols" allows TLSv1.1'],
    fixed: `${TLS}\nssl_protocols TLSv1.2 TLSv1.3;`,
  },
  {
    it: 'reports a default of several servers once',
    ...inHttp,
    files,
    text: `ssl_protocols TLSv1 TLSv1.2;\nserver { ${TLS} server_name a.example; }\nserver { ${TLS} server_name x.b.example; }`,
    says: ['"ssl_protocols" allows TLSv1'],
  },
  { it: 'accepts a default that no server uses', ...inHttp, text: 'ssl_protocols TLSv1 TLSv1.1 TLSv1.2;' },
  {
    it: 'looks at upstreams',
    in: 'location',
    text: 'proxy_ssl_protocols TLSv1 TLSv1.2;',
    says: ['"proxy_ssl_protocols" allows TLSv1'],
  },
  {
    it: 'looks at stores',
    in: 'location',
    text: 'kv_ssl_protocols TLSv1.1 TLSv1.2;',
    says: ['"kv_ssl_protocols" allows TLSv1.1'],
  },
]);

testRule('weak-ciphers', [
  {
    it: 'removes them',
    files,
    text: `${TLS}\nssl_ciphers "ECDHE-RSA-AES128-GCM-SHA256:DES-CBC3-SHA";`,
    says: ['"ssl_ciphers" has weak ciphers: 3DES'],
    fixed: `${TLS}\nssl_ciphers "ECDHE-RSA-AES128-GCM-SHA256:DES-CBC3-SHA:!3DES";`,
  },
]);

const lists: readonly (readonly [list: string, weak: readonly string[]])[] = [
  ['HIGH:!aNULL:!MD5', []],
  ['HIGH', []],
  ['DEFAULT:!aNULL', []],
  ['ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305', []],
  ['EECDH+AESGCM:EDH+AESGCM:AES256+EECDH', []],
  ['ALL:!aNULL:!ADH:!eNULL:!LOW:!EXP:RC4+RSA:+HIGH:+MEDIUM', ['RC4', '3DES']],
  ['HIGH:RC4-SHA:!RC4', []],
  ['HIGH:!RC4:RC4-SHA', []],
  ['RC4:-RC4:HIGH', []],
  ['ECDHE+RC4:HIGH', ['RC4']],
  ['HIGH:aNULL', ['aNULL']],
  ['NULL-SHA256', ['eNULL']],
  ['EXP:LOW:HIGH:@STRENGTH', ['EXPORT', 'DES']],
  ['@SECLEVEL=1:HIGH', []],
];

test.for(lists)('the cipher list %s has the weaknesses %j', ([list, weak]) => {
  expect(weaknessesOf(list)).toEqual(weak);
});

const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

testRule('certificate-expiring', [
  {
    it: 'counts the days',
    files: { ...files, 'a.crt': { names: ['a.example'], days: 5 } },
    text: `${TLS}\nserver_name a.example;`,
    says: [`certificate "a.crt" expires in 4 days, on ${inDays(5)}`],
  },
  {
    it: 'reports a certificate that has expired',
    files: { ...files, 'a.crt': { names: ['a.example'], days: 0 } },
    text: `${TLS}\nserver_name a.example;`,
    says: [`certificate "a.crt" expired on ${inDays(0)}`],
  },
  {
    it: 'looks at the certificates that gw shows to upstreams and stores',
    in: 'location',
    files: { ...files, 'a.crt': { names: ['a.example'], days: 0 } },
    text: ['proxy', 'grpc', 'uwsgi', 'kv']
      .map((owner) => `${owner}_ssl_certificate a.crt;\n${owner}_ssl_certificate_key a.key;`)
      .join('\n'),
    says: Array.from({ length: 4 }, () => `certificate "a.crt" expired on ${inDays(0)}`),
  },
  {
    it: 'reports a certificate of two servers once',
    ...inHttp,
    files: { ...files, 'a.crt': { names: ['a.example'], days: 5 } },
    text: 'ssl_certificate a.crt;\nssl_certificate_key a.key;\nserver { listen 127.0.0.1:8443 ssl; }\nserver { listen 127.0.0.1:8444 ssl; }',
    says: [`certificate "a.crt" expires in 4 days, on ${inDays(5)}`],
  },
  {
    it: 'accepts a certificate that no server uses',
    ...inHttp,
    files: { ...files, 'a.crt': { names: ['a.example'], days: 5 } },
    text: 'ssl_certificate a.crt;\nssl_certificate_key a.key;\nserver { listen 127.0.0.1:8080; }',
  },
]);

test('a certificate that has expired is an error, and one that is about to a warning', async () => {
  const severityOf = async (days: number): Promise<unknown> => {
    const own = { ...files, 'a.crt': { names: ['a.example'], days } };
    const found = await findingsIn({ files: own, text: `${TLS}\nserver_name a.example;` });
    return found.find(({ rule }) => rule === 'GW503')?.severity;
  };
  expect(await severityOf(0)).toBe('error');
  expect(await severityOf(5)).toBe('warning');
  expect(await severityOf(90)).toBeUndefined();
});

const ACME =
  'acme_issuer le { uri https://ca.example/directory; state_path state; accept_terms_of_service; }';
const kept = (id: string): string => `state/certificates/${id}/pair.pem`;

testRule('acme-certificate-expired', [
  {
    it: 'looks at what is stored for the names of the server',
    ...inHttp,
    files: {
      [kept('a.example')]: { names: ['a.example'], days: 0 },
      [kept('b.example')]: { names: ['b.example'], days: 0 },
    },
    text: `${ACME}\nserver { listen 443 ssl; server_name a.example; acme_certificate le; }`,
    says: [`certificate "a.example" expired on ${inDays(0)}`],
  },
  {
    it: 'accepts that nothing is stored yet',
    ...inHttp,
    text: `${ACME}\nserver { listen 443 ssl; server_name a.example; acme_certificate le; }`,
  },
]);

testRule('certificate-name', [
  {
    it: 'looks at each name',
    files,
    text: `${TLS}\nserver_name a.example c.b.example *.b.example d.c.b.example *.a.example;`,
    says: [
      '"d.c.b.example" is not a name of certificate "a.crt"',
      '"*.a.example" is not a name of certificate "a.crt"',
    ],
  },
  {
    it: 'accepts names that no client asks for',
    files,
    text: `${TLS}\nserver_name _ localhost "" ~^x www.x.*;`,
  },
]);

testRule('no-hsts', [
  {
    it: 'sees a header of a location',
    ...inHttp,
    files,
    text: `server {\n${PUBLIC}\nlocation / { add_header Strict-Transport-Security max-age=1; } }`,
  },
  {
    it: 'accepts a redirect',
    ...inHttp,
    files,
    text: `server {\n${PUBLIC}\nreturn 301 https://a.example/; }`,
  },
  {
    it: 'leaves it to an upstream',
    ...inHttp,
    files,
    text: `server {\n${PUBLIC}\nlocation / { proxy_pass http://127.0.0.1:1; } }`,
  },
]);

testRule('hsts-on-http', [
  {
    it: 'accepts what comes through a proxy',
    ...inHttp,
    text: 'server { listen 80; set_real_ip_from 10.0.0.1; add_header Strict-Transport-Security max-age=1; }',
  },
  {
    it: 'accepts a value that a map chooses by the scheme',
    ...inHttp,
    text: 'map $scheme $hsts { https max-age=1; } server { listen 80; add_header Strict-Transport-Security $hsts; }',
  },
]);

testRule('no-http-redirect', [
  {
    it: 'finds a server that listens on both',
    ...inHttp,
    files,
    text: `server {\nlisten 80;\n${PUBLIC}\nserver_name a.example; }`,
    says: ['"a.example" is served over plain HTTP as well as over TLS'],
  },
  {
    it: 'accepts a server that looks at the scheme',
    ...inHttp,
    files,
    text: `server {\nlisten 80;\n${PUBLIC}\nserver_name a.example; if ($scheme = http) { return 301 https://$host$request_uri; } }`,
  },
  {
    it: 'accepts a redirect in a location',
    ...inHttp,
    files,
    text: `server { listen 80; server_name a.example; location / { return 301 https://$host$request_uri; } }\nserver {\n${PUBLIC}\nserver_name a.example; }`,
  },
]);

const PUBLIC_KEY = generateKeyPairSync('ed25519')
  .publicKey.export({ type: 'spki', format: 'pem' })
  .toString();
const readable = { 'a.crt': files['a.crt'], 'a.key': { keyOf: 'a.crt', mode: 0o644 } } as const;
const open = (text: string) => ({ text, mode: 0o644 });
const fileOf = (name: string, holds = 'secrets') =>
  `"${name}" contains ${holds} and is readable by all users (mode 0644)`;

testRule('key-world-readable', [
  {
    it: 'accepts read access for a group',
    files: { ...files, 'a.key': { keyOf: 'a.crt', mode: 0o640 } },
    text: TLS,
  },
  {
    it: 'reports a key of several servers once where it is inherited',
    ...inHttp,
    files: readable,
    text: 'ssl_certificate a.crt;\nssl_certificate_key a.key;\nserver { listen 127.0.0.1:8443 ssl; }\nserver { listen 127.0.0.1:8444 ssl; }',
    says: [fileOf('a.key')],
  },
  ...['proxy', 'grpc', 'uwsgi', 'kv'].map((prefix) => ({
    it: `looks at the key that ${prefix}_ssl_certificate_key names`,
    in: 'location' as const,
    files: readable,
    text: `${prefix}_ssl_certificate a.crt;\n${prefix}_ssl_certificate_key a.key;`,
    says: [fileOf('a.key')],
  })),
  ...['ssl', 'proxy_ssl', 'kv_ssl'].map((prefix) => ({
    it: `looks at the passphrases that ${prefix}_password_file names`,
    files: { 'a.pass': open('hunter2') },
    text: `${prefix}_password_file a.pass;`,
    says: [fileOf('a.pass')],
  })),
  {
    it: 'looks at keys of tickets',
    files: { ...files, 'tickets.key': open('k'.repeat(48)) },
    text: `${TLS}\nssl_session_ticket_key tickets.key;`,
    says: [fileOf('tickets.key')],
  },
  {
    it: 'looks at the key that a cluster shows its store',
    in: 'http',
    files: readable,
    text: 'cluster shop {\nbackend rediss://127.0.0.1:6379;\nnode_id one;\nssl_certificate a.crt;\nssl_certificate_key a.key;\n}',
    says: [fileOf('a.key')],
  },
  {
    it: 'looks at hashes of passwords',
    files: { users: open('ann:{PLAIN}hunter2\n') },
    text: 'auth_basic_user_file users;',
    says: [fileOf('users', 'password hashes')],
  },
  {
    it: 'looks at files from which secrets are read',
    in: 'location',
    files: { token: open('3f9c0e6b1d') },
    text: 'secure_link_secret "${file:token}";',
    says: [fileOf('token')],
  },
  {
    it: 'accepts a public key that everybody can read',
    in: 'location',
    files: { 'jwt.pub': open(PUBLIC_KEY) },
    text: 'dbrest_jwt_secret "${file:jwt.pub}";',
  },
]);
