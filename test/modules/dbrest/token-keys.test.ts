import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { keys, NO_KEY, seen, sharedSecured, user, WHOAMI } from './token-location.ts';
import { SECRET, sign } from '../../harness/tokens.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(WHOAMI);
});

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rsaJwk = { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa' };
const rsaPem = rsa.publicKey.export({ format: 'pem', type: 'spki' }) as string;

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const fixed = generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwkOf = (key: KeyObject, members: object): object => ({ ...key.export({ format: 'jwk' }), ...members });

const set = JSON.stringify({
  keys: [
    rsaJwk,
    { kty: 'oct', kid: 'mac', alg: 'HS256', k: Buffer.from(SECRET).toString('base64url') },
    { kty: 'unheard of', kid: 'new' },
    jwkOf(ec.publicKey, { kid: 'ec' }),
    jwkOf(ed.privateKey, { kid: 'ed' }),
    jwkOf(fixed.publicKey, { kid: 'fixed', alg: 'RS256' }),
    { kty: 'oct', kid: 'enc', use: 'enc', k: Buffer.from('x'.repeat(32)).toString('base64url') },
  ],
});
const cases: [it: string, token: () => Promise<string> | string, response: string][] = [
  ['a token of its key id', () => sign(user, { header: { kid: 'mac' } }), 'web_user'],
  ['a token without a key id', () => sign(user), 'web_user'],
  ['a token of the RSA key', () => signed(rsa, 'RS256', 'rsa'), 'web_user'],
  ['a token of the RSA key with PS512', () => signed(rsa, 'PS512', 'rsa'), 'web_user'],
  ['a token of the EC key', () => signed(ec, 'ES256', 'ec'), 'web_user'],
  ['a token of the Ed25519 key', () => signed(ed, 'EdDSA', 'ed'), 'web_user'],
  ['a token of a key for one algorithm', () => signed(fixed, 'RS256', 'fixed'), 'web_user'],
  ['a token of that key with another algorithm', () => signed(fixed, 'PS256', 'fixed'), NO_KEY],
  ['a token of another RSA key', () => signed(fixed, 'RS256', 'rsa'), NO_KEY],
  ['a token of another key id', () => sign(user, { header: { kid: 'rsa' } }), NO_KEY],
  ['a key id that is a path', () => sign(user, { header: { kid: '../mac' } }), NO_KEY],
  ['a key id that is SQL', () => sign(user, { header: { kid: "' or '1'='1" } }), NO_KEY],
  ['a key id that is an object', () => sign(user, { header: { kid: { mac: 1 } } }), NO_KEY],
  ['a key id that is an array', () => sign(user, { header: { kid: ['mac'] } }), NO_KEY],
  ['a key id that is null', () => sign(user, { header: { kid: null } }), NO_KEY],
  ['a key id of Object', () => sign(user, { header: { kid: '__proto__' } }), NO_KEY],
  [
    'the secret of a key for encryption',
    () => sign(user, { secret: 'x'.repeat(32), header: { kid: 'enc' } }),
    NO_KEY,
  ],
  ['the public key as a secret', () => sign(user, { secret: rsaPem, header: { kid: 'rsa' } }), NO_KEY],
  [
    'the modulus as a secret',
    () => sign(user, { secret: Buffer.from(rsaJwk.n as string, 'base64url'), header: { kid: 'rsa' } }),
    NO_KEY,
  ],
  ['the JWK as a secret', () => sign(user, { secret: JSON.stringify(rsaJwk) }), NO_KEY],
  ['an empty secret', () => sign(user, { secret: '', header: { kid: 'mac' } }), NO_KEY],
];
const secured = sharedSecured();

test.each(cases)('a set of keys gives for %s the expected role or fault', async (_, token, response) => {
  const api = await secured(db.dsn, { jwtKeys: keys(set), jwtInvalid: 'reject' });
  const got = await seen(api, await token());
  expect(typeof got === 'string' ? got : got.role).toBe(response);
});

async function signed({ privateKey }: { privateKey: KeyObject }, alg: string, kid: string): Promise<string> {
  const { CompactSign } = await import('jose');
  const payload = new TextEncoder().encode(JSON.stringify(user));
  return new CompactSign(payload).setProtectedHeader({ alg, kid }).sign(privateKey);
}
