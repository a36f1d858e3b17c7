import { generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { bearer, inSeconds, SECRET, sign } from '../../harness/tokens.ts';
import { jwks } from './issuer.ts';

const load = oneGateway();
const OTHER = 'another secret of at least thirty-two bytes';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const files = {
  'map.json': JSON.stringify({ one: SECRET, two: OTHER, rsa: PEM }),
  'keys.json': jwks({ one: SECRET }),
  'subjects.json': JSON.stringify({ eve: { since: 2026 }, 42: null }),
  'keys-off.json': JSON.stringify(['two']),
};

function signRsa(claims: object): string {
  const [header, payload] = [{ alg: 'RS256', kid: 'rsa' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = signBytes('sha256', Buffer.from(`${header}.${payload}`), rsa.privateKey);
  return `${header}.${payload}.${signature.toString('base64url')}`;
}

const ann = (claims: object = {}, kid?: string, secret = SECRET): string =>
  sign({ sub: 'ann', ...claims }, { secret, ...(kid !== undefined && { header: { kid } }) });
const SECRETS = `jwt_secret "${SECRET}";`;
const demand = (line: string): string => `${SECRETS} ${line}`;

const cases: readonly {
  it: string;
  conf: string;
  token?: string;
  path?: string;
  status: number;
  body?: string;
}[] = [
  { it: 'no token', conf: SECRETS, status: 401 },
  { it: 'a token of the secret', conf: SECRETS, token: ann(), status: 200 },
  { it: 'a token of HS512', conf: SECRETS, token: sign({}, { header: { alg: 'HS512' } }), status: 200 },
  { it: 'a token of another secret', conf: SECRETS, token: ann({}, undefined, OTHER), status: 401 },
  { it: 'a token that has expired', conf: SECRETS, token: ann({ exp: inSeconds(-5) }), status: 401 },
  {
    it: 'a token that has expired, within the leeway',
    conf: demand('jwt_leeway 60;'),
    token: ann({ exp: inSeconds(-5) }),
    status: 200,
  },
  {
    it: 'a token that has expired where that does not count',
    conf: demand('jwt_validate_exp off;'),
    token: ann({ exp: inSeconds(-500) }),
    status: 200,
  },
  {
    it: 'no token where it is off',
    conf: `${SECRETS} location /off { jwt_secret off; echo -n ok; }`,
    path: '/off',
    status: 200,
  },
  {
    it: 'the token of an argument',
    conf: `jwt_secret "${SECRET}" token=$arg_t;`,
    path: `/?t=${ann()}`,
    status: 200,
  },
  {
    it: 'the token of an argument, with the secret of the block around',
    conf: `${SECRETS} location /in { jwt_secret token=$arg_t; echo -n ok; }`,
    path: `/in?t=${ann()}`,
    status: 200,
  },
  { it: 'a token of a secret in a file', conf: 'jwt_key_file map.json;', token: ann({}, 'one'), status: 200 },
  {
    it: 'a token of a PEM key in a file',
    conf: 'jwt_key_file map.json;',
    token: signRsa({ sub: 'ann' }),
    status: 200,
  },
  {
    it: 'a token whose HMAC secret is the public key',
    conf: 'jwt_key_file map.json;',
    token: ann({}, 'rsa', PEM),
    status: 401,
  },
  {
    it: 'a token of another key than it names',
    conf: 'jwt_key_file map.json;',
    token: ann({}, 'two'),
    status: 401,
  },
  {
    it: 'a token that names none of several keys',
    conf: 'jwt_key_file map.json;',
    token: ann(),
    status: 401,
  },
  {
    it: 'a token that names no key where it need not',
    conf: 'jwt_key_file map.json; jwt_strict_kid off;',
    token: ann(),
    status: 200,
  },
  { it: 'a token of a key set', conf: 'jwt_key_file keys.json jwks;', token: ann({}, 'one'), status: 200 },
  {
    it: 'a token of the secret where there are keys',
    conf: `jwt_secret "${OTHER}"; jwt_key_file keys.json jwks;`,
    token: ann({}, undefined, OTHER),
    status: 401,
  },
  {
    it: 'a token of a key in a response',
    conf: 'jwt_key_request /map keyval;',
    token: ann({}, 'two', OTHER),
    status: 200,
  },
  {
    it: 'a token of a key set in a response',
    conf: 'jwt_key_request /set;',
    token: ann({}, 'one'),
    status: 200,
  },
  {
    it: 'a token of the right issuer',
    conf: demand('jwt_issuer me;'),
    token: ann({ iss: 'me' }),
    status: 200,
  },
  {
    it: 'a token of another issuer',
    conf: demand('jwt_issuer me;'),
    token: ann({ iss: 'you' }),
    status: 401,
  },
  {
    it: 'a token for the audience',
    conf: demand('jwt_audience api;'),
    token: ann({ aud: ['x', 'api'] }),
    status: 200,
  },
  {
    it: 'a token for another audience',
    conf: demand('jwt_audience api;'),
    token: ann({ aud: 'x' }),
    status: 401,
  },
  { it: 'a token for nobody', conf: demand('jwt_audience api;'), token: ann(), status: 401 },
  {
    it: 'a nested claim',
    conf: demand('jwt_require_claim app.roles.1 eq admin;'),
    token: ann({ app: { roles: ['x', 'admin'] } }),
    status: 200,
  },
  {
    it: 'a claim that is the value of a variable',
    conf: demand('jwt_require_claim org eq $arg_org;'),
    path: '/?org=a',
    token: ann({ org: 'a' }),
    status: 200,
  },
  {
    it: 'a claim that must not be',
    conf: demand('jwt_require_claim org !eq a;'),
    token: ann({ org: 'a' }),
    status: 401,
  },
  {
    it: 'an absent claim that must not be',
    conf: demand('jwt_require_claim org !eq a;'),
    token: ann(),
    status: 200,
  },
  {
    it: 'a number that is large enough',
    conf: demand('jwt_require_claim level ge 3;'),
    token: ann({ level: 3 }),
    status: 200,
  },
  {
    it: 'a number that is too small',
    conf: demand('jwt_require_claim level gt 3;'),
    token: ann({ level: 3 }),
    status: 401,
  },
  {
    it: 'a number that is small enough',
    conf: demand('jwt_require_claim level lt 4;'),
    token: ann({ level: 3 }),
    status: 200,
  },
  {
    it: 'a text where a number counts',
    conf: demand('jwt_require_claim level le 3;'),
    token: ann({ level: '' }),
    status: 401,
  },
  {
    it: 'a parameter of the header',
    conf: demand('jwt_require_header typ eq JWT;'),
    token: ann(),
    status: 200,
  },
  {
    it: 'another parameter of the header',
    conf: demand('jwt_require_header typ eq at+jwt;'),
    token: ann(),
    status: 401,
  },
  { it: 'a value that must be there', conf: demand('jwt_require $arg_a;'), token: ann(), status: 401 },
  {
    it: 'a value that must be there, with a status',
    conf: demand('jwt_require $arg_a error=403;'),
    token: ann(),
    status: 403,
  },
  {
    it: 'a subject that is revoked',
    conf: demand('jwt_revocation_list_sub subjects.json;'),
    token: ann({ sub: 'eve' }),
    status: 401,
  },
  {
    it: 'a subject that is a number and revoked',
    conf: demand('jwt_revocation_list_sub subjects.json;'),
    token: ann({ sub: 42 }),
    status: 401,
  },
  {
    it: 'a subject that is not revoked',
    conf: demand('jwt_revocation_list_sub subjects.json;'),
    token: ann(),
    status: 200,
  },
  {
    it: 'a key that is revoked',
    conf: 'jwt_key_file map.json; jwt_revocation_list_kid keys-off.json;',
    token: ann({}, 'two', OTHER),
    status: 401,
  },
  {
    it: 'no key id where some are revoked',
    conf: demand('jwt_revocation_list_kid keys-off.json;'),
    token: ann(),
    status: 401,
  },
  {
    it: 'a token that nobody has signed, where signatures do not count',
    conf: `${SECRETS} jwt_validate_sig off;`,
    token: ann({}, undefined, OTHER),
    status: 200,
  },
  {
    it: 'a text that is no token, where signatures do not count',
    conf: `${SECRETS} jwt_validate_sig off;`,
    token: 'x',
    status: 401,
  },
  {
    it: 'claims and headers as variables',
    conf: `jwt_header $typ typ; jwt_claim $who sub; ${SECRETS} location /vars { jwt_claim $role .app.roles[0]; echo -n "$who $role $typ"; }`,
    token: ann({ app: { roles: ['admin'] } }),
    path: '/vars',
    status: 200,
    body: 'ann admin JWT',
  },
  { it: 'a token before access', conf: demand('jwt_phase preaccess;'), token: ann(), status: 200 },
  {
    it: 'no token beside an address that may enter',
    conf: demand('satisfy any; allow all;'),
    status: 200,
  },
  {
    it: 'no token before access, beside an address that may enter',
    conf: demand('jwt_phase preaccess; satisfy any; allow all;'),
    status: 401,
  },
];

for (const { it, conf, token, path = '/', status, body = status === 200 ? 'ok' : undefined } of cases)
  test(`nginz's directives: ${it} gets ${status}`, async (t) => {
    const gw = await load(
      t,
      `server { ${conf} location / { echo -n ok; }
         location = /map { jwt_secret off; return 200 '${JSON.stringify({ one: SECRET, two: OTHER })}'; }
         location = /set { jwt_secret off; return 200 '${jwks({ one: SECRET })}'; } }`,
      files,
    );
    const headers = token === undefined ? {} : bearer(token);
    await gw.expect(`GET ${path}`, { status, ...(body !== undefined && { body }) }, { headers });
  });

test('a changed revocation list is read again', async (t) => {
  const gw = await load(
    t,
    `server { ${SECRETS} jwt_revocation_list_sub subjects.json; location / { echo -n ok; } }`,
    files,
  );
  const request = { headers: bearer(ann()) };
  await gw.expect('GET /', { status: 200 }, request);
  writeFileSync(join(gw.dir, 'subjects.json'), JSON.stringify(['ann']));
  await expect.poll(async () => (await gw.fetch('/', request)).status, { timeout: 5_000 }).toBe(401);
});
