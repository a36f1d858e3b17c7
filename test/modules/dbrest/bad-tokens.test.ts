import { expect, onTestFinished, test } from 'vitest';
import { startWorker } from './direct.ts';
import { postgres } from '../../harness/postgres.ts';
import { NO_KEY, seen, sharedSecured, user, WHOAMI, withHeader } from './token-location.ts';
import { inSeconds, SECRET, sign } from '../../harness/tokens.ts';

const BAD_ALG = '401 PGRST301 Wrong or unsupported encoding algorithm';
const UNDECODABLE = '401 PGRST301 JWT cryptographic operation failed';
const UNPARSABLE = '401 PGRST303 Parsing claims failed';
const [HEAD, PAYLOAD, SIGNATURE] = sign(user).split('.') as [string, string, string];

/** Invalid tokens: "reject" gives 401; "anon" gives the anonymous role without claims. */
const rejected: [it: string, token: string, problem: string][] = [
  ['is empty', '', '401 PGRST301 Empty JWT is sent in Authorization header'],
  ['has one part', 'abc', '401 PGRST301 Expected 3 parts in JWT; got 1'],
  ['has two parts', `${HEAD}.${PAYLOAD}`, '401 PGRST301 Expected 3 parts in JWT; got 2'],
  ['has four parts', `${HEAD}.${PAYLOAD}.${SIGNATURE}.`, '401 PGRST301 Expected 3 parts in JWT; got 4'],
  ['has five parts', 'a.b.c.d.e', '401 PGRST301 Expected 3 parts in JWT; got 5'],
  ['is not base64url', `${HEAD}.${PAYLOAD}.${SIGNATURE}=`, UNDECODABLE],
  ['contains a blank', `${HEAD}.${PAYLOAD}.${SIGNATURE} x`, UNDECODABLE],
  ['has a header that is not JSON', withHeader('nonsense'), UNDECODABLE],
  ['has a header that is an array', withHeader('["HS256"]'), UNDECODABLE],
  ['has an empty header', `.${PAYLOAD}.${SIGNATURE}`, UNDECODABLE],
  ['is encrypted', withHeader({ alg: 'dir', enc: 'A128GCM' }), '401 PGRST301 Unsupported token type'],
  ['is unsigned', `${Buffer.from('{"alg":"none"}').toString('base64url')}.${PAYLOAD}.`, BAD_ALG],
  ['says none and has a signature', withHeader({ alg: 'none' }), BAD_ALG],
  ['says None', withHeader({ alg: 'None' }), BAD_ALG],
  ['says nOnE', withHeader({ alg: 'nOnE' }), BAD_ALG],
  ['says NONE', withHeader({ alg: 'NONE' }), BAD_ALG],
  ['names its algorithm in lower case', withHeader({ alg: 'hs256' }), BAD_ALG],
  ['has no algorithm', withHeader({ alg: undefined }), BAD_ALG],
  ['has null for an algorithm', withHeader({ alg: null }), BAD_ALG],
  ['has an array of algorithms', withHeader({ alg: ['HS256'] }), BAD_ALG],
  ['has an object for an algorithm', withHeader({ alg: { HS256: 1 } }), BAD_ALG],
  ['has an empty algorithm', withHeader({ alg: '' }), BAD_ALG],
  ['names an unknown algorithm', withHeader({ alg: 'HS257' }), BAD_ALG],
  ['names a member of Object', withHeader({ alg: 'constructor' }), BAD_ALG],
  ['is signed with HS384, for which the secret is not meant', withHeader({ alg: 'HS384' }), NO_KEY],
  ['is signed with HS512, for which the secret is not meant', withHeader({ alg: 'HS512' }), NO_KEY],
  ['claims RS256', withHeader({ alg: 'RS256' }), NO_KEY],
  ['claims ES256', withHeader({ alg: 'ES256' }), NO_KEY],
  ['claims EdDSA', withHeader({ alg: 'EdDSA' }), NO_KEY],
  ['is signed with another secret', sign(user, { secret: `${SECRET}!` }), NO_KEY],
  ['is signed with an empty secret', sign(user, { secret: '' }), NO_KEY],
  ['has its signature cut', `${HEAD}.${PAYLOAD}.${SIGNATURE.slice(0, 20)}`, NO_KEY],
  ['has no signature', `${HEAD}.${PAYLOAD}.`, NO_KEY],
  ['has the payload of another', `${HEAD}.${sign({ role: 'postgres' }).split('.')[1]}.${SIGNATURE}`, NO_KEY],
  [
    'carries its own key',
    sign(user, { secret: 'x'.repeat(32), header: { jwk: { kty: 'oct', k: 'eHh4' } } }),
    NO_KEY,
  ],
  [
    'carries the address of a key',
    sign(user, { secret: 'x', header: { jku: 'http://127.0.0.1/', x5u: 'http://127.0.0.1/' } }),
    NO_KEY,
  ],
  ['carries a certificate', sign(user, { secret: 'x', header: { x5c: ['MIIB'] } }), NO_KEY],
  ['asks for an extension', withHeader({ crit: ['exp'], exp: 1 }), UNDECODABLE],
  ['asks for an unencoded payload', withHeader({ crit: ['b64'], b64: false }), UNDECODABLE],
  ['asks for an encoded payload', withHeader({ b64: true }), UNDECODABLE],
  ['has a payload that is not JSON', sign('nonsense'), UNPARSABLE],
  ['has an empty payload', sign(''), UNPARSABLE],
  ['has a payload that is an array', sign([user]), UNPARSABLE],
  ['has a payload that is a string', sign('"web_user"'), UNPARSABLE],
  ['has a payload that is null', sign('null'), UNPARSABLE],
  ['has its role twice', sign('{"role":"web_user","role":"postgres"}'), UNPARSABLE],
  ['has a payload that is not UTF-8', sign(Buffer.from('{"role":"\xff"}', 'latin1')), UNPARSABLE],
  ['has a payload of more than 8 KB', sign({ ...user, pad: 'x'.repeat(9_000) }), UNPARSABLE],
  [
    'has a payload of great depth',
    sign(`{"role":"web_user","deep":${'['.repeat(40)}${']'.repeat(40)}}`),
    UNPARSABLE,
  ],
  ['has expired', sign({ ...user, exp: inSeconds(-60) }), '401 PGRST303 JWT expired'],
  ['has expired long ago', sign({ ...user, exp: 0 }), '401 PGRST303 JWT expired'],
  ['expired before the epoch', sign({ ...user, exp: -1e300 }), '401 PGRST303 JWT expired'],
  ['is not valid yet', sign({ ...user, nbf: inSeconds(600) }), '401 PGRST303 JWT not yet valid'],
  ['is from the future', sign({ ...user, iat: inSeconds(600) }), '401 PGRST303 JWT issued at future'],
  [
    'has expired and is not valid yet',
    sign({ ...user, exp: inSeconds(-60), nbf: inSeconds(600) }),
    '401 PGRST303 JWT expired',
  ],
  [
    'is not valid yet and from the future',
    sign({ ...user, iat: inSeconds(600), nbf: inSeconds(600) }),
    '401 PGRST303 JWT not yet valid',
  ],
  [
    'has a bad time and a bad audience',
    sign({ ...user, aud: 1, iat: 'x' }),
    "401 PGRST303 The JWT 'iat' claim must be a number",
  ],
  ...['exp', 'nbf', 'iat'].flatMap((claim) =>
    ['"9999999999"', 'null', 'true', '[9999999999]', '{}', '1e999', '-1e999', '""'].map(
      (value): [string, string, string] => [
        `has ${value} for "${claim}"`,
        sign(`{"role":"web_user","${claim}":${value}}`),
        `401 PGRST303 The JWT '${claim}' claim must be a number`,
      ],
    ),
  ),
  ...['1', 'true', '{}', '[1]', '["a",null]', '[["a"]]'].map((value): [string, string, string] => [
    `has ${value} for an audience`,
    sign(`{"role":"web_user","aud":${value}}`),
    "401 PGRST303 The JWT 'aud' claim must be a string or an array of strings",
  ]),
];

const { dsn } = await postgres(WHOAMI);
const secured = sharedSecured();

test.each(rejected)('a token that %s is refused with "reject"', async (_, token, problem) => {
  expect(await seen(await secured(dsn, { jwtInvalid: 'reject' }), token)).toBe(problem);
});

test.each(rejected)('a token that %s counts as no token with "anon"', async (_, token) => {
  const anonymous = { role: 'anon', jwt: '', claims: '{"role":"anon"}', sent: null };
  expect(await seen(await secured(dsn), token)).toEqual(anonymous);
});

test.each([
  [
    'anon',
    withHeader({ alg: 'none' }),
    "PGRST301 Wrong or unsupported encoding algorithm (JWT is unsecured but expected 'alg' was not 'none')",
  ],
  ['anon', sign({ ...user, exp: inSeconds(-60) }), 'PGRST303 JWT expired'],
  ['reject', sign({ ...user, exp: inSeconds(-60) }), 'PGRST303 JWT expired'],
  ['reject', 'abc', 'PGRST301 Expected 3 parts in JWT; got 1'],
  ['anon', sign({ role: 'none' }), '22023 role "none" does not exist'],
] as const)(
  'with "%s" the log says why a token is rejected, and never has it',
  async (jwtInvalid, token, why) => {
    const api = await secured(dsn, { jwtInvalid, worker: startWorker({ onTestFinished }) });
    await seen(api, token);
    await seen(api, sign(user));
    const told = api.log.filter((line) => line.includes('token rejected'));
    expect(told).toEqual([`[info] dbrest: token rejected: ${why}`]);
    expect(api.log.join()).not.toContain(token);
  },
);
