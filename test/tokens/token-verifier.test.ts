import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { CompactSign } from 'jose';
import { expect, test } from 'vitest';
import { isRefusal, openKeys, readKeySource, TokenVerifier, type KeySet } from '../../src/tokens/index.ts';

type Pair = Readonly<Record<'publicKey' | 'privateKey', KeyObject>>;

const SECRET = Buffer.from('a secret of at least thirty-two bytes');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' });
const ed = generateKeyPairSync('ed25519');

const jwkOf = ({ publicKey }: Pair, members: object = {}): object => ({
  ...publicKey.export({ format: 'jwk' }),
  ...members,
});
const oct = (secret: Buffer, members: object = {}): object => ({
  kty: 'oct',
  k: secret.toString('base64url'),
  ...members,
});

function setOf(...keys: readonly object[]): KeySet {
  const source = readKeySource(JSON.stringify({ keys }));
  if ('fault' in source) throw new Error(source.fault);
  return openKeys(source);
}

const verifier = () => new TokenVerifier({ mostTokens: 100, mostBytes: 8_192 });

/** `verified`, or the reason of the refusal. */
function judged(token: string, keys: KeySet): string {
  const outcome = verifier().verify(token, keys);
  return isRefusal(outcome) ? outcome.refused : 'verified';
}

const sign = (payload: unknown, header: object, key: KeyObject | Buffer): Promise<string> =>
  new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: '', ...header })
    .sign(key);

/** A token with exactly these parts, signed with HS256. */
function written(header: string, payload: string, secret: Buffer | string = SECRET): string {
  const signed = [header, payload].map((part) => Buffer.from(part).toString('base64url')).join('.');
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const USER = { sub: 'ann' };
const HEADER = '{"alg":"HS256"}';
const all = setOf(oct(SECRET), ...[rsa, p256, p384, p521, ed].map((pair) => jwkOf(pair)));

const algorithms: readonly (readonly [alg: string, key: KeyObject | Buffer, own: object])[] = [
  ...['HS256', 'HS384', 'HS512'].map((alg) => [alg, SECRET, oct(SECRET)] as const),
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map(
    (alg) => [alg, rsa.privateKey, jwkOf(rsa)] as const,
  ),
  ['ES256', p256.privateKey, jwkOf(p256)],
  ['ES384', p384.privateKey, jwkOf(p384)],
  ['ES512', p521.privateKey, jwkOf(p521)],
  ['EdDSA', ed.privateKey, jwkOf(ed)],
  ['Ed25519', ed.privateKey, jwkOf(ed)],
];

test.each(algorithms)('a token with %s is verified by its key, and changed not', async (alg, key, own) => {
  const token = await sign(USER, { alg }, key);
  const changed = token.replace(
    /^[^.]*\.\w/,
    (start) => start.slice(0, -1) + (start.endsWith('A') ? 'B' : 'A'),
  );
  expect(judged(token, all)).toBe('verified');
  expect(judged(token, setOf({ ...own, alg }))).toBe('verified');
  expect(judged(token, setOf({ ...own, alg, kid: 'a', use: 'sig' }))).toBe('verified');
  expect(judged(changed, all)).toBe('key');
  expect(judged(token.slice(0, -4), all)).toBe('key');
});

test.each(algorithms)(
  'a key for another algorithm does not verify a token with %s',
  async (alg, key, own) => {
    const token = await sign(USER, { alg }, key);
    const isOfThisKey = (other: string): boolean => {
      const names = algorithms.filter(([, one]) => one === key).map(([name]) => name);
      return other !== alg && names.includes(other);
    };
    const others = algorithms.map(([name]) => name).filter(isOfThisKey);
    expect(others.map((other) => judged(token, setOf({ ...own, alg: other })))).toEqual(
      others.map(() => 'key'),
    );
  },
);

const pem = rsa.publicKey.export({ format: 'pem', type: 'spki' }) as string;
const named = setOf(
  oct(SECRET, { kid: 'a' }),
  oct(Buffer.alloc(32, 1), { kid: 'b' }),
  oct(Buffer.alloc(32, 2)),
);
const many = setOf(...Array.from({ length: 9 }, (_, n) => oct(Buffer.alloc(32, n + 1))));

const cases: readonly [it: string, token: () => Promise<string> | string, keys: KeySet, verdict: string][] = [
  ['names its key', () => sign(USER, { alg: 'HS256', kid: 'a' }, SECRET), named, 'verified'],
  ['names no key', () => sign(USER, { alg: 'HS256' }, SECRET), named, 'verified'],
  ['names another key', () => sign(USER, { alg: 'HS256', kid: 'b' }, SECRET), named, 'key'],
  ['names no known key', () => sign(USER, { alg: 'HS256', kid: 'c' }, SECRET), named, 'key'],
  ['names a key by an object', () => written('{"alg":"HS256","kid":{"a":1}}', '{}'), named, 'key'],
  ['has a key id of null', () => written('{"alg":"HS256","kid":null}', '{}'), named, 'key'],
  ['is of the eighth key', () => written(HEADER, '{}', Buffer.alloc(32, 8)), many, 'verified'],
  ['is of the ninth key', () => written(HEADER, '{}', Buffer.alloc(32, 9)), many, 'key'],
  ['is signed by a short RSA key', () => weak(), setOf(jwkOf(short)), 'key'],
  ['is signed with a public key as secret', () => written(HEADER, '{}', pem), setOf(jwkOf(rsa)), 'key'],
  ['is signed with an empty secret', () => written(HEADER, '{}', ''), setOf({ kty: 'oct', k: '=' }), 'key'],
  ['brings its own key', () => withMember('jwk', oct(Buffer.alloc(32))), named, 'key'],
  ['brings the address of a key', () => withMember('jku', 'http://127.0.0.1/'), named, 'key'],
  ['brings the address of a certificate', () => withMember('x5u', 'http://127.0.0.1/'), named, 'key'],
  ['brings a certificate', () => withMember('x5c', ['MIIB']), named, 'key'],
  ['is unsecured', () => written('{"alg":"none"}', '{}').replace(/[^.]*$/, ''), all, 'unsecured'],
  ['says none and is signed', () => written('{"alg":"none"}', '{}'), all, 'unsecured'],
  ['says nOnE', () => written('{"alg":"nOnE"}', '{}'), all, 'algorithm'],
  ['names a member of Object', () => written('{"alg":"constructor"}', '{}'), all, 'algorithm'],
  ['asks for an extension', () => written('{"alg":"HS256","crit":["exp"],"exp":1}', '{}'), all, 'critical'],
  [
    'has no encoded payload',
    () => written('{"alg":"HS256","crit":["b64"],"b64":false}', '{}'),
    all,
    'critical',
  ],
  ['has b64 alone', () => written('{"alg":"HS256","b64":true}', '{}'), all, 'critical'],
  ['is encrypted', () => written('{"alg":"dir","enc":"A128GCM"}', '{}'), all, 'encrypted'],
  ['has two algorithms', () => written('{"alg":"none","alg":"HS256"}', '{}'), all, 'malformed'],
  ['has two in other letters', () => written('{"alg":"HS256","\\u0061lg":"none"}', '{}'), all, 'malformed'],
  ['has a claim twice', () => written(HEADER, '{"sub":"ann","sub":"bob"}'), all, 'claims'],
  ['has a claim within twice', () => written(HEADER, '{"a":[{"b":{"c":1,"d":[],"c":1}}]}'), all, 'claims'],
  [
    'has a name in two objects',
    () => written(HEADER, '{"a":[{"b":1},{"b":2}],"b":{"b":"}"}}'),
    all,
    'verified',
  ],
  ['has a deep payload', () => written(HEADER, `{"a":${'['.repeat(32)}${']'.repeat(32)}}`), all, 'claims'],
  [
    'has a payload of 32 levels',
    () => written(HEADER, `{"a":${'['.repeat(31)}${']'.repeat(31)}}`),
    all,
    'verified',
  ],
  ['has a large payload', () => written(HEADER, `{"a":"${'x'.repeat(8_185)}"}`), all, 'claims'],
  ['has an array for a payload', () => written(HEADER, '[1]'), all, 'claims'],
  ['has an empty signature', () => written(HEADER, '{}').replace(/[^.]*$/, ''), all, 'key'],
  ['has a character too many', () => `${written(HEADER, '{}')}A`, all, 'key'],
  ['has a length that no bytes have', () => `${written(HEADER, '{}')}AA`, all, 'malformed'],
  ['has a blank', () => `${written(HEADER, '{}')} `, all, 'malformed'],
  ['has four parts', () => `${written(HEADER, '{}')}.`, all, 'parts'],
];

async function weak(): Promise<string> {
  const { sign: signWith } = await import('node:crypto');
  const signed = `${Buffer.from('{"alg":"RS256"}').toString('base64url')}.e30`;
  return `${signed}.${signWith('sha256', Buffer.from(signed), short.privateKey).toString('base64url')}`;
}

/** A token of a stranger's key that says where this one is. */
const withMember = (name: string, value: unknown): string =>
  written(JSON.stringify({ alg: 'HS256', [name]: value }), '{}', Buffer.alloc(32));

test.each(cases)('a token that %s is judged so', async (...[, token, keys, verdict]) => {
  expect(judged(await token(), keys)).toBe(verdict);
});

test('integers that a number cannot hold keep their digits', () => {
  const outcome = verifier().verify(written(HEADER, '{"id":9007199254740993,"n":7,"__proto__":-1e3}'), all);
  if (isRefusal(outcome)) throw new Error(outcome.refused);
  expect(Object.entries(outcome.claims.exact)).toEqual([
    ['id', 9007199254740993n],
    ['n', 7],
    ['__proto__', -1_000],
  ]);
  expect(outcome.claims.members['id']).toBe(Number('9007199254740993'));
});

test('a cached token is that of the keys that verified it', () => {
  const shared = verifier();
  const token = written(HEADER, '{}');
  const [first, same, other] = [setOf(oct(SECRET)), setOf(oct(SECRET)), setOf(oct(Buffer.alloc(32)))];
  const verified = shared.verify(token, first);
  expect(shared.verify(token, same)).toBe(verified);
  expect(shared.verify(token, other)).toEqual({ refused: 'key' });
  shared.forget(token, first);
  expect(shared.verify(token, first)).not.toBe(verified);
});
