import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { CompactEncrypt, importJWK, type JWK } from 'jose';
import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { bearer, inSeconds, SECRET, sign } from '../../harness/tokens.ts';

const load = oneGateway();

const oct = (kid: string, bytes: number): JWK => ({
  kty: 'oct',
  kid,
  k: randomBytes(bytes).toString('base64url'),
});
const rsa = (kid: string): JWK => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid,
});
const KEYS = { wrap: oct('wrap', 16), large: oct('large', 32), double: oct('double', 64), rsa: rsa('rsa') };
const SIGNING: JWK = { kty: 'oct', kid: 'sign', use: 'sig', k: Buffer.from(SECRET).toString('base64url') };
const files = { 'keys.json': JSON.stringify({ keys: [...Object.values(KEYS), SIGNING] }) };

interface Encryption {
  readonly alg?: string;
  readonly enc?: string;
  readonly kid?: string;
  readonly more?: object;
}

async function encrypt(
  content: string,
  key: JWK,
  { alg = 'A128KW', enc = 'A128GCM', kid = key.kid as string, more = {} }: Encryption = {},
): Promise<string> {
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...open } = key;
  return new CompactEncrypt(Buffer.from(content))
    .setProtectedHeader({ alg, enc, kid, ...more })
    .encrypt(await importJWK(key.kty === 'RSA' ? open : key, alg));
}

const location = (type: string, more = ''): string =>
  `server { location / { auth_jwt api; auth_jwt_key_file keys.json; auth_jwt_type ${type}; ${more} echo -n "$jwt_claim_sub $jwt_header_alg"; }
     location /early { auth_jwt api; auth_jwt_key_file keys.json; auth_jwt_type ${type}; if ($jwt_claim_sub = ann) { return 200 early; } } }`;
const claims = (more = {}): string => JSON.stringify({ sub: 'ann', ...more });

const algorithms: readonly (Encryption & { key: JWK })[] = [
  { key: KEYS.wrap, alg: 'A128KW', enc: 'A128CBC-HS256' },
  { key: KEYS.large, alg: 'A256KW', enc: 'A256CBC-HS512' },
  { key: KEYS.large, alg: 'A256GCMKW', enc: 'A192GCM' },
  { key: KEYS.large, alg: 'dir', enc: 'A256GCM' },
  { key: KEYS.double, alg: 'dir', enc: 'A256CBC-HS512' },
  { key: KEYS.rsa, alg: 'RSA-OAEP', enc: 'A256GCM' },
  { key: KEYS.rsa, alg: 'RSA-OAEP-256', enc: 'A192CBC-HS384' },
  { key: KEYS.rsa, alg: 'RSA-OAEP-512', enc: 'A128GCM' },
];

for (const { key, ...algorithm } of algorithms)
  test(`a token of ${algorithm.alg} and ${algorithm.enc} is opened`, async (t) => {
    const gw = await load(t, location('encrypted'), files);
    const token = await encrypt(claims(), key, algorithm);
    for (let n = 0; n < 2; n += 1)
      await gw.expect('GET /', { status: 200, body: `ann ${algorithm.alg}` }, { headers: bearer(token) });
    await gw.expect('GET /early', { body: 'early' }, { headers: bearer(token) });
  });

test('a signed token inside an encrypted one is opened, and its signature verified', async (t) => {
  const gw = await load(t, location('nested'), files);
  const nested = async (inner: string) => ({
    headers: bearer(await encrypt(inner, KEYS.rsa, { alg: 'RSA-OAEP-256', more: { cty: 'JWT' } })),
  });
  await gw.expect('GET /', { status: 200, body: 'ann HS256' }, await nested(sign({ sub: 'ann' })));
  await gw.expect('GET /early', { body: 'early' }, await nested(sign({ sub: 'ann' })));
  await gw.expect('GET /', { status: 401 }, await nested(sign({ sub: 'ann' }, { secret: 'x'.repeat(32) })));
  await gw.expect('GET /', { status: 401 }, await nested(sign({ sub: 'ann', exp: inSeconds(-1) })));
  await gw.expect('GET /', { status: 401 }, await nested(claims()));
});

const refused: readonly { it: string; token: () => Promise<string>; says: string; type?: string }[] = [
  { it: 'a signed token', token: async () => sign({ sub: 'ann' }), says: 'it is not encrypted' },
  {
    it: 'a token of an unknown key',
    token: () => encrypt(claims(), oct('wrap', 16)),
    says: 'no key opens it',
  },
  {
    it: 'a token that names a key that is not there',
    token: () => encrypt(claims(), KEYS.wrap, { kid: 'gone' }),
    says: 'no key',
  },
  {
    it: 'a token that has been changed',
    token: async () =>
      (await encrypt(claims(), KEYS.wrap))
        .replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A'))
        .replace(/\.[^.]+\.([^.]+)$/, '.AAAA.$1'),
    says: 'no key opens it',
  },
  {
    it: 'a token that has expired',
    token: () => encrypt(claims({ exp: inSeconds(-1) }), KEYS.wrap),
    says: 'it has expired',
  },
  {
    it: 'a text that is no object',
    token: () => encrypt('"ann"', KEYS.wrap),
    says: 'its claims are malformed',
  },
  { it: 'a text that is no token', token: async () => 'a.b.c.d.e', says: 'it is malformed' },
];

for (const { it, token, says, type = 'encrypted' } of refused)
  test(`${it} gets 401 where tokens are encrypted`, async (t) => {
    const gw = await load(t, location(type), files);
    await gw.expect('GET /', { status: 401 }, { headers: bearer(await token()) });
    await gw.waitForLog(new RegExp(`\\[info\\] .*the token is refused: ${says}`));
  });

test('encrypted tokens are no tokens where signed ones are expected', async (t) => {
  const gw = await load(t, location('signed'), files);
  await gw.expect('GET /', { status: 401 }, { headers: bearer(await encrypt(claims(), KEYS.wrap)) });
  await gw.waitForLog(/\[info\] .*the token is refused: it has 5 parts instead of 3/);
  expect(
    (await gw.fetch('/', { headers: bearer(sign({ sub: 'ann' }, { header: { kid: 'sign' } })) })).status,
  ).toBe(200);
});

test('what the keys of one location open does not count where others are', async (t) => {
  const keys = (key: JWK): string => JSON.stringify({ keys: [key] });
  const gw = await load(
    t,
    `server { auth_jwt_type encrypted;
       location /a { auth_jwt api; auth_jwt_key_file one.json; try_files /none /b; }
       location /b { auth_jwt api; auth_jwt_key_file two.json; echo -n ok; } }`,
    { 'one.json': keys(KEYS.wrap), 'two.json': keys(oct('wrap', 16)) },
  );
  const request = { headers: bearer(await encrypt(claims(), KEYS.wrap)) };
  await gw.expect('GET /b', { status: 401 }, request);
  await gw.expect('GET /a', { status: 401 }, request);
});
