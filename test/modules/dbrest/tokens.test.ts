import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { TestDatabase } from '../../harness/postgres.ts';
import { postgres } from '../../harness/postgres.ts';
import { readKeySource } from '../../../src/modules/dbrest/auth/index.ts';
import type { Direct } from './direct.ts';
import { direct } from './direct.ts';
import { bearer, inSeconds, SECRET, sign } from './tokens.ts';

const FIXTURE = `
  create role stranger;
  create view whoami as select
    current_user as role,
    current_setting('request.jwt') as jwt,
    current_setting('request.jwt.claims') as claims,
    current_setting('request.headers')::json->>'authorization' as sent;
  create table closed (id int);
  grant select on whoami to anon, web_user, authenticator;
`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

interface Seen {
  readonly role: string;
  readonly jwt: string;
  readonly claims: string;
  readonly sent: string | null;
}

/** What the database saw of a request; a problem is its status, code and message. */
async function seen(api: Direct, token: string): Promise<Seen | string> {
  const { status, body } = await api.get('/api/whoami', bearer(token));
  const json = JSON.parse(body) as Seen[] & { code: string; message: string };
  return status === 200 ? (json[0] as Seen) : `${status} ${json.code} ${json.message}`;
}

const location = (
  t: Parameters<typeof direct>[0],
  config: Parameters<typeof direct>[2] = {},
): Promise<Direct> => direct(t, db.dsn, { jwtKeys: keys(SECRET), ...config });

function keys(text: string) {
  const source = readKeySource(text);
  if ('fault' in source) throw new Error(source.fault);
  return source;
}

const user = { role: 'web_user' };
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rsaJwk = { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa' };
const rsaPem = rsa.publicKey.export({ format: 'pem', type: 'spki' }) as string;
const NO_KEY = '401 PGRST301 No suitable key or wrong key type';
const BAD_ALG = '401 PGRST301 Wrong or unsupported encoding algorithm';
const UNDECODABLE = '401 PGRST301 JWT cryptographic operation failed';
const UNPARSABLE = '401 PGRST303 Parsing claims failed';

const withHeader = (header: Record<string, unknown> | string): string => sign(user, { header });
const [HEAD, PAYLOAD, SIGNATURE] = sign(user).split('.') as [string, string, string];

/** Never genuine: each gives 401 where bad tokens are rejected, and the anonymous role with nothing of it elsewhere. */
const rejected: [it: string, token: string, problem: string][] = [
  ['is empty', '', '401 PGRST301 Empty JWT is sent in Authorization header'],
  ['has one part', 'abc', '401 PGRST301 Expected 3 parts in JWT; got 1'],
  ['has two parts', `${HEAD}.${PAYLOAD}`, '401 PGRST301 Expected 3 parts in JWT; got 2'],
  ['has four parts', `${HEAD}.${PAYLOAD}.${SIGNATURE}.`, '401 PGRST301 Expected 3 parts in JWT; got 4'],
  ['has five parts', 'a.b.c.d.e', '401 PGRST301 Expected 3 parts in JWT; got 5'],
  ['is not base64url', `${HEAD}.${PAYLOAD}.${SIGNATURE}=`, UNDECODABLE],
  ['has a blank in it', `${HEAD}.${PAYLOAD}.${SIGNATURE} x`, UNDECODABLE],
  ['has a header that is no JSON', withHeader('nonsense'), UNDECODABLE],
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
  ['names an algorithm that nobody knows', withHeader({ alg: 'HS257' }), BAD_ALG],
  ['names a member of Object', withHeader({ alg: 'constructor' }), BAD_ALG],
  ['is signed with HS384, which the secret is not for', withHeader({ alg: 'HS384' }), NO_KEY],
  ['is signed with HS512, which the secret is not for', withHeader({ alg: 'HS512' }), NO_KEY],
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
  ['has a payload that is no JSON', sign('nonsense'), UNPARSABLE],
  ['has an empty payload', sign(''), UNPARSABLE],
  ['has a payload that is an array', sign([user]), UNPARSABLE],
  ['has a payload that is a string', sign('"web_user"'), UNPARSABLE],
  ['has a payload that is null', sign('null'), UNPARSABLE],
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
  ['is not valid yet', sign({ ...user, nbf: inSeconds(60) }), '401 PGRST303 JWT not yet valid'],
  ['is from the future', sign({ ...user, iat: inSeconds(60) }), '401 PGRST303 JWT issued at future'],
  [
    'has expired and is not valid yet',
    sign({ ...user, exp: inSeconds(-60), nbf: inSeconds(60) }),
    '401 PGRST303 JWT expired',
  ],
  [
    'is not valid yet and from the future',
    sign({ ...user, iat: inSeconds(60), nbf: inSeconds(60) }),
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

describe('a token that', () => {
  test.each(rejected)('%s is refused with "reject"', async (_, token, problem) => {
    const api = await reject;
    expect(await seen(api, token)).toBe(problem);
  });
  test.each(rejected)('%s is as good as none with "anon"', async (_, token) => {
    const api = await lenient;
    expect(await seen(api, token)).toEqual({ role: 'anon', jwt: '', claims: '{"role":"anon"}', sent: null });
  });
});

let reject: Promise<Direct>;
let lenient: Promise<Direct>;
beforeAll(() => {
  const stops: (() => unknown)[] = [];
  const t = { onTestFinished: (stop: () => unknown) => void stops.push(stop) } as never;
  reject = location(t, { jwtInvalid: 'reject' });
  lenient = location(t);
  return async () => {
    for (const stop of stops) await stop();
  };
});

const accepted: [it: string, token: string][] = [
  ['claims a role', sign(user)],
  ['expired within the skew', sign({ ...user, exp: inSeconds(-20) })],
  ['becomes valid within the skew', sign({ ...user, nbf: inSeconds(20), iat: inSeconds(20) })],
  ['has fractions in its times', sign({ ...user, exp: inSeconds(20) + 0.5 })],
  ['has an audience that nobody asks for', sign({ ...user, aud: 'elsewhere' })],
  ['has no type', withHeader({ typ: undefined })],
  ['has another type', withHeader({ typ: ['x'] })],
  ['has a key id, with a secret that has none', withHeader({ kid: '../../dev/null' })],
  ['names a key in its header', withHeader({ jku: 'http://127.0.0.1/', zip: 'DEF' })],
  ['has strange members', sign(`{"__proto__":{"role":"anon"},"constructor":1,"role":"web_user"}`)],
  ['has numbers that JavaScript cannot hold', sign(`{"role":"web_user","big":12345678901234567890}`)],
];

test.each(accepted)('a token that %s gives its role and its claims as they were', async (_, token) => {
  const claims = Buffer.from(token.split('.')[1] as string, 'base64url').toString();
  const expected = { role: 'web_user', jwt: token, claims, sent: `Bearer ${token}` };
  const api = await reject;
  expect(await seen(api, token)).toEqual(expected);
  expect(await seen(api, token)).toEqual(expected);
});

const audiences: [aud: unknown, passes: boolean][] = [
  [undefined, true],
  [null, true],
  [[], true],
  ['shop', true],
  [['x', 'shop'], true],
  ['Shop', false],
  ['shop2', false],
  ['', false],
  [['x'], false],
];
test.each(audiences)('with an audience configured, a token for %j passes: %s', async (aud, passes) => {
  const api = await location({ onTestFinished }, { jwtInvalid: 'reject', jwtAudience: 'shop' });
  const answer = await seen(api, sign({ ...user, aud }));
  expect(typeof answer === 'string' ? answer : answer.role).toBe(
    passes ? 'web_user' : '401 PGRST303 JWT not in audience',
  );
});

const roles: [claim: string, answer: string][] = [
  ['"web_user"', 'web_user'],
  ['"anon"', 'anon'],
  ['"none"', '401 22023 role "none" does not exist'],
  ['""', '401 22023 role "" does not exist'],
  ['null', '401 22023 role "null" does not exist'],
  ['1', '401 22023 role "1" does not exist'],
  ['["web_user"]', '401 22023 role "["web_user"]" does not exist'],
  ['{"toString":1}', '401 22023 role "{"toString":1}" does not exist'],
  ['"web_user\\u0000"', '401 22023 role "web_user\0" does not exist'],
  ['"web_user "', '401 22023 role "web_user " does not exist'],
  ['"WEB_USER"', '401 22023 role "WEB_USER" does not exist'],
  ['"web_us\\u0435r"', '401 22023 role "web_us\u0435r" does not exist'],
  [`"${'w'.repeat(64)}"`, `401 22023 role "${'w'.repeat(64)}" does not exist`],
  ['"nobody; drop table closed"', '401 22023 role "nobody; drop table closed" does not exist'],
  ['"authenticator"', '403 42501 permission denied to set role "authenticator"'],
  ['"stranger"', '403 42501 permission denied to set role "stranger"'],
  ['"postgres"', '403 42501 permission denied to set role "postgres"'],
];
test.each(roles)('a token whose role is %s runs as: %s', async (claim, answer) => {
  for (const api of [await reject, await lenient]) {
    const got = await seen(api, sign(`{"role":${claim}}`));
    expect(typeof got === 'string' ? got : got.role).toBe(answer);
  }
});

test('a token without a role runs as the anonymous role, with its claims', async () => {
  const token = sign({ sub: 'x' });
  expect(await seen(await reject, token)).toMatchObject({ role: 'anon', jwt: token, claims: '{"sub":"x"}' });
});

const challenges: [
  it: string,
  headers: Record<string, string>,
  path: string,
  status: number,
  challenge: string | undefined,
][] = [
  [
    'bad token',
    bearer('x'),
    'whoami',
    401,
    'Bearer error="invalid_token", error_description="Expected 3 parts in JWT; got 1"',
  ],
  [
    'expired token',
    bearer(sign({ exp: 1 })),
    'whoami',
    401,
    'Bearer error="invalid_token", error_description="JWT expired"',
  ],
  ['unknown role', bearer(sign({ role: 'nobody' })), 'whoami', 401, 'Bearer'],
  ['missing right of nobody', {}, 'closed', 401, 'Bearer'],
  ['missing right of somebody', bearer(sign(user)), 'closed', 403, undefined],
];
test.each(challenges)('a %s is told how to sign in', async (_, headers, path, status, challenge) => {
  const reply = await (await reject).get(`/api/${path}`, headers);
  expect([reply.status, reply.headers['www-authenticate']]).toEqual([status, challenge]);
});

test('without an anonymous role, nobody without a role is served', async (t) => {
  const api = await location(t, { anonRole: undefined as never });
  for (const token of ['bad', sign({ sub: 'x' })]) {
    expect(await seen(api, token)).toBe('401 PGRST302 Anonymous access is disabled');
  }
  expect(await seen(api, sign(user))).toMatchObject({ role: 'web_user' });
  expect(await api.get('/api/whoami')).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': 'Bearer' },
  });
});

test('without a secret, tokens are passed on unread', async (t) => {
  const open = await direct(t, db.dsn);
  expect(await seen(open, 'any thing')).toMatchObject({
    role: 'anon',
    jwt: 'any thing',
    claims: '{"role":"anon"}',
  });
  const strict = await direct(t, db.dsn, { jwtInvalid: 'reject' });
  expect(await seen(strict, 'any')).toBe('500 PGRST300 Server lacks JWT secret');
});

const schemes: [authorization: string, role: string][] = [
  ['bearer ', 'web_user'],
  ['BEARER   ', 'web_user'],
  ['Basic ', 'anon'],
  ['', 'anon'],
  ['Bearer_', 'anon'],
];
test.each(schemes)('the scheme %j makes a token %s', async (scheme, role) => {
  const { body } = await (await reject).get('/api/whoami', { authorization: `${scheme}${sign(user)}` });
  expect(JSON.parse(body)).toMatchObject([{ role }]);
});

const paths: [path: (string | number)[], payload: string, role: string][] = [
  [['https://x/role'], '{"https://x/role":"web_user"}', 'web_user'],
  [['app', 'roles', 0], '{"app":{"roles":["web_user"]}}', 'web_user'],
  [['app', 'roles', 1], '{"app":{"roles":["web_user"]}}', 'anon'],
  [['app', 'roles', 'length'], '{"app":{"roles":["web_user"]}}', 'anon'],
  [['app', '0'], '{"app":["web_user"]}', 'anon'],
  [['constructor', 'name'], '{}', 'anon'],
  [['__proto__', 'role'], '{"__proto__":{"role":"web_user"}}', 'web_user'],
];
test.each(paths)('the role at %j of %s is %s', async (jwtRolePath, payload, role) => {
  const api = await location({ onTestFinished }, { jwtRolePath });
  expect(await seen(api, sign(payload))).toMatchObject({ role });
});

describe('a set of keys', () => {
  const set = JSON.stringify({
    keys: [
      rsaJwk,
      { kty: 'oct', kid: 'mac', alg: 'HS256', k: Buffer.from(SECRET).toString('base64url') },
      { kty: 'unheard of', kid: 'new' },
      { kty: 'oct', kid: 'enc', use: 'enc', k: Buffer.from('x'.repeat(32)).toString('base64url') },
    ],
  });
  const cases: [it: string, token: () => Promise<string> | string, answer: string][] = [
    ['a token of its key id', () => sign(user, { header: { kid: 'mac' } }), 'web_user'],
    ['a token without a key id', () => sign(user), 'web_user'],
    ['a token of the RSA key', () => signRsa('RS256', { kid: 'rsa' }), 'web_user'],
    ['a token of the RSA key with PS512', () => signRsa('PS512', { kid: 'rsa' }), 'web_user'],
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
  test.each(cases)('answers %s', async (_, token, answer) => {
    const api = await location({ onTestFinished }, { jwtKeys: keys(set), jwtInvalid: 'reject' });
    const got = await seen(api, await token());
    expect(typeof got === 'string' ? got : got.role).toBe(answer);
  });
});

async function signRsa(alg: string, header: object): Promise<string> {
  const { CompactSign } = await import('jose');
  const payload = new TextEncoder().encode(JSON.stringify(user));
  return new CompactSign(payload).setProtectedHeader({ alg, ...header }).sign(rsa.privateKey);
}
