import { beforeAll, expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';
import { WHOAMI } from '../dbrest/token-location.ts';

const load = oneGateway();
const OTHER = 'another secret of at least thirty-two bytes';
const files = {
  'keys.json': JSON.stringify({ keys: [{ kty: 'oct', k: Buffer.from(SECRET).toString('base64url') }] }),
};

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(WHOAMI);
});

const conf = (more = '', anon = 'dbrest_anon_role anon;'): string =>
  `server { location / { auth_jwt api; auth_jwt_key_file keys.json; ${more} dbrest_pass ${db.dsn}; ${anon} } }`;
const ANY = 'satisfy any; allow 127.0.0.1; deny all;';
const user = { role: 'web_user', sub: 'ann', large: 1 };

const cases = [
  { it: 'the role of the token', token: sign(user), role: 'web_user' },
  { it: 'the anonymous role without a claim', token: sign({ sub: 'ann' }), role: 'anon' },
  { it: 'the anonymous role without a token', more: ANY, role: 'anon' },
  {
    it: 'the anonymous role with a forged token',
    more: ANY,
    token: sign(user, { secret: OTHER }),
    role: 'anon',
  },
  {
    it: 'the anonymous role without a scope',
    more: `${ANY} auth_jwt_scope admin;`,
    token: sign(user),
    role: 'anon',
  },
  { it: 'the role of the token behind an address', more: ANY, token: sign(user), role: 'web_user' },
  {
    it: 'the role at the path',
    more: 'dbrest_jwt_role_claim .app.role;',
    token: sign({ app: { role: 'web_user' } }),
    role: 'web_user',
  },
];

for (const { it, token, more, role } of cases)
  test(`dbrest behind auth_jwt runs a request as ${it}`, async (t) => {
    const gw = await load(t, conf(more), files);
    const { body } = await gw.expect(
      'GET /whoami',
      { status: 200 },
      token === undefined ? {} : { headers: bearer(token) },
    );
    expect(JSON.parse(body)).toMatchObject([{ role }]);
  });

test('the database gets the payload of the verified token unchanged', async (t) => {
  const gw = await load(t, conf(), files);
  const claims = '{"role":"web_user",  "id":12345678901234567890}';
  const { body } = await gw.expect('GET /whoami', { status: 200 }, { headers: bearer(sign(claims)) });
  expect(JSON.parse(body)).toMatchObject([{ claims }]);
});

const refused = [
  { it: 'a forged token', token: sign(user, { secret: OTHER }), status: 401, code: undefined },
  { it: 'no token', token: undefined, status: 401, code: undefined },
  {
    it: 'a token without a role and no anonymous role',
    anon: '',
    token: sign({ sub: 'ann' }),
    status: 401,
    code: 'PGRST302',
  },
  {
    it: 'no token and no anonymous role',
    anon: '',
    more: ANY,
    token: undefined,
    status: 401,
    code: 'PGRST302',
  },
  { it: 'the role that gw logs in with', token: sign({ role: 'authenticator' }), status: 403, code: '42501' },
];

for (const { it, token, more, anon, status, code } of refused)
  test(`dbrest behind auth_jwt refuses ${it}`, async (t) => {
    const gw = await load(t, conf(more, anon), files);
    const { body } = await gw.expect(
      'GET /whoami',
      { status },
      token === undefined ? {} : { headers: bearer(token) },
    );
    if (code !== undefined) expect(JSON.parse(body)).toMatchObject({ code });
    else expect(body).not.toContain('PGRST');
  });

const inner = [
  { it: 'auth_jwt with a scope', guard: 'auth_jwt api; auth_jwt_key_file keys.json; auth_jwt_scope write;' },
  { it: 'auth_api_key', guard: 'auth_api_key api; auth_api_key_file api-keys;' },
];

for (const { it, guard } of inner)
  test(`the items of a batch are asked what their method is asked: ${it}`, async (t) => {
    const gw = await load(
      t,
      `server { location / { limit_except GET POST { ${guard} } dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_batch on; } }`,
      { ...files, 'api-keys': `ann:${'0'.repeat(64)}\n` },
    );
    const body = (method: string): string => JSON.stringify([{ method, path: '/whoami?role=eq.x' }]);
    const init = { headers: { 'content-type': 'application/json' } };
    await gw.expect('POST /rpc/batch', { status: 200 }, { ...init, body: body('GET') });
    const { body: refusal } = await gw.expect(
      'POST /rpc/batch',
      { status: 403 },
      { ...init, body: body('DELETE') },
    );
    expect(JSON.parse(refusal)).toMatchObject({ code: 'DBREST114' });
  });
