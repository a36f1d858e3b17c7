import { beforeAll, expect, test } from 'vitest';
import { compileClaim, readRolePath, type RolePath } from '../../../src/modules/dbrest/auth/index.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { sharedDirect } from './direct.ts';
import { seen, sharedSecured, user, WHOAMI, withHeader } from './token-location.ts';
import { bearer, inSeconds, sign } from '../../harness/tokens.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(WHOAMI);
});

const compiled = sharedDirect();
const secured = sharedSecured();
const strict = () => secured(db.dsn, { jwtInvalid: 'reject' });

/** Made when they are sent: some are valid for seconds only. */
const accepted: [it: string, made: () => string][] = [
  ['claims a role', () => sign(user)],
  ['expired within the skew', () => sign({ ...user, exp: inSeconds(-20) })],
  ['becomes valid within the skew', () => sign({ ...user, nbf: inSeconds(20), iat: inSeconds(20) })],
  ['has fractions in its times', () => sign({ ...user, exp: inSeconds(20) + 0.5 })],
  ['has an audience where none is required', () => sign({ ...user, aud: 'elsewhere' })],
  ['has no type', () => withHeader({ typ: undefined })],
  ['has another type', () => withHeader({ typ: ['x'] })],
  ['has a key id, with a secret that has none', () => withHeader({ kid: '../../dev/null' })],
  ['names a key in its header', () => withHeader({ jku: 'http://127.0.0.1/', zip: 'DEF' })],
  ['has strange members', () => sign(`{"__proto__":{"role":"anon"},"constructor":1,"role":"web_user"}`)],
  ['has numbers that JavaScript cannot hold', () => sign(`{"role":"web_user","big":12345678901234567890}`)],
];

test.each(accepted)('a token that %s gives its role and its claims as they were', async (_, made) => {
  const token = made();
  const claims = Buffer.from(token.split('.')[1] as string, 'base64url').toString();
  const expected = { role: 'web_user', jwt: token, claims, sent: `Bearer ${token}` };
  const api = await strict();
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
  const api = await secured(db.dsn, { jwtInvalid: 'reject', jwtAudience: 'shop' });
  const response = await seen(api, sign({ ...user, aud }));
  expect(typeof response === 'string' ? response : response.role).toBe(
    passes ? 'web_user' : '401 PGRST303 JWT not in audience',
  );
});

const roles: [claim: string, response: string][] = [
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
test.each(roles)('a token whose role is %s runs as: %s', async (claim, response) => {
  for (const api of [await strict(), await secured(db.dsn)]) {
    const got = await seen(api, sign(`{"role":${claim}}`));
    expect(typeof got === 'string' ? got : got.role).toBe(response);
  }
});

test('a token without a role runs as the anonymous role, with its claims', async () => {
  const token = sign({ sub: 'x' });
  expect(await seen(await strict(), token)).toMatchObject({
    role: 'anon',
    jwt: token,
    claims: '{"sub":"x"}',
  });
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
  ['missing privilege without a token', {}, 'closed', 401, 'Bearer'],
  ['missing privilege of a user', bearer(sign(user)), 'closed', 403, undefined],
];
test.each(challenges)('a %s gets its challenge', async (...[, headers, path, status, challenge]) => {
  const response = await (await strict()).get(`/api/${path}`, headers);
  expect([response.status, response.headers['www-authenticate']]).toEqual([status, challenge]);
});

test('without an anonymous role, requests without a role are refused', async () => {
  const api = await secured(db.dsn, { anonRole: undefined as never });
  for (const token of ['bad', sign({ sub: 'x' })]) {
    expect(await seen(api, token)).toBe('401 PGRST302 Anonymous access is disabled');
  }
  expect(await seen(api, sign(user))).toMatchObject({ role: 'web_user' });
  expect(await api.get('/api/whoami')).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': 'Bearer' },
  });
});

test('without a secret and an anonymous role, requests run as the login role, whatever token they send', async () => {
  const api = await compiled(db.dsn, { anonRole: undefined as never });
  const claims = '{"role":"authenticator"}';
  const bare = await api.get('/api/whoami');
  expect([bare.status, JSON.parse(bare.body)]).toEqual([
    200,
    [{ role: 'authenticator', jwt: '', claims, sent: null }],
  ]);
  const token = sign({ role: 'postgres' });
  expect(await seen(api, token)).toMatchObject({ role: 'authenticator', jwt: token, claims });
  expect(await api.get('/api/closed')).toMatchObject({ status: 403 });
});

test('without a secret, tokens are passed on unread', async () => {
  const open = await compiled(db.dsn);
  expect(await seen(open, 'any thing')).toMatchObject({
    role: 'anon',
    jwt: 'any thing',
    claims: '{"role":"anon"}',
  });
  const strict = await compiled(db.dsn, { jwtInvalid: 'reject' });
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
  const { body } = await (await strict()).get('/api/whoami', { authorization: `${scheme}${sign(user)}` });
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
  const api = await secured(db.dsn, { jwtRolePath });
  expect(await seen(api, sign(payload))).toMatchObject({ role });
});

const filters: [path: string, roles: unknown, role: string | undefined][] = [
  ['.roles[?(@ == "web_user")]', ['anon', 'web_user'], 'web_user'],
  ['.roles[?(@ == "web")]', ['web_user'], undefined],
  ['.roles[?(@ != "x")]', ['x', 'web_user', 'anon'], 'web_user'],
  ['.roles[?(@ ^== "web_")]', ['app_x', 'web_user', 'web_admin'], 'web_user'],
  ['.roles[?(@ ==^ "_user")]', ['web_admin', 'web_user'], 'web_user'],
  ['.roles[?(@ *== "b_u")]', [1, null, 'web_user'], 'web_user'],
  ['.roles[?(@=="quo\\"te")]', ['quo"te'], 'quo"te'],
  ['.roles[?(@ == "web_user")]', 'web_user', undefined],
  ['.roles[?(@ == "web_user")]', { 0: 'web_user' }, undefined],
  ['.roles[0][?(@ ^== "")]', [['web_user']], 'web_user'],
];
test.each(filters)('the role at %s of %j is %s', (path, roles, role) => {
  expect(compileClaim(readRolePath(path) as RolePath)({ roles })).toBe(role);
});

test.each([
  '.roles[?(@ == "x")].y',
  '.roles[?(@ == x)]',
  '.roles[?(@ ~= "x")]',
  '.roles[?(@ == "x"]',
  '.roles[?()]',
])('%s is no path to a role', (path) => expect(readRolePath(path)).toHaveProperty('fault'));
