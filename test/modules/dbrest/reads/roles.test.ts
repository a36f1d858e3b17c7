import { describe, expect, test } from 'vitest';
import { startGateway } from '../../../harness/gateway.ts';
import { postgres } from '../../../harness/postgres.ts';
import { type ResponseCase, fixtureGateway, givesResponses } from '../fixture/gateway.ts';
import { bearer, inSeconds, SECRET, sign } from '../../../harness/tokens.ts';

const gateway = fixtureGateway({
  more: `location /strict/ { dbrest_pass $dsn; dbrest_jwt_invalid reject; }
    location /audience/ { dbrest_pass $dsn; dbrest_jwt_audience shop; dbrest_jwt_invalid reject; }
    location /path/ { dbrest_pass $dsn; dbrest_jwt_role_claim '.app.roles[?(@ ^== "web_a")]'; }
    location /minimal/ { dbrest_pass $dsn; dbrest_error_verbosity minimal; }`,
});

const ids = (...of: number[]): object[] => of.map((id) => ({ id }));
const as = (role: string, sub?: string): Record<string, string> =>
  bearer(sign({ role, ...(sub && { sub }) }));
const ann = as('web_user', 'ann');
const bob = as('web_user', 'bob');
const admin = as('web_admin');

const rows = (request: string, headers: Record<string, string>, json: unknown): ResponseCase => ({
  request,
  with: headers,
  status: 200,
  json,
});
const security: readonly ResponseCase[] = [
  rows('messages?select=id&order=id', {}, ids(1, 3)),
  rows('messages?select=id&order=id', ann, ids(1, 2, 3)),
  rows('messages?select=id&order=id', bob, ids(1, 3, 4)),
  rows('messages?select=id&order=id', admin, ids(1, 2, 3, 4)),
  rows('messages?select=id&order=id', as('web_user'), ids(1, 3)),
  rows('accounts?select=id', {}, []),
  rows('accounts?select=id', ann, ids(1)),
  rows('accounts?select=id,messages(id)&messages.order=id&order=id', admin, [
    { id: 1, messages: ids(1, 2) },
    { id: 2, messages: ids(3, 4) },
  ]),
  rows('accounts?select=id,messages(id)&messages.order=id', bob, [{ id: 2, messages: ids(3, 4) }]),
  rows('messages?select=count()', bob, [{ count: 3 }]),
  rows('accounts?select=id,messages(count)&order=messages(count).desc,id', ann, [
    { id: 1, messages: [{ count: 2 }] },
  ]),
  rows('messages?select=account_id&having=count().gt.1&order=account_id', {}, []),
  rows('messages?select=account_id&having=count().gt.1&order=account_id', bob, [{ account_id: 2 }]),
  rows('messages?select=author&distinct=on.*&order=author', ann, [{ author: 'ann' }, { author: 'bob' }]),
  rows('messages?select=id&distinct=on.(author)&order=author,id.desc', {}, ids(1, 3)),
  rows('messages?select=id&distinct=on.(author)&order=author,id.desc', admin, ids(2, 4)),
  rows('messages?select=id,accounts!inner(owner)&order=id', ann, [
    { id: 1, accounts: { owner: 'ann' } },
    { id: 2, accounts: { owner: 'ann' } },
  ]),
  rows('secrets?select=word', admin, [{ word: 'xyzzy' }]),
  rows('partly?select=id,shown', {}, [{ id: 1, shown: 'shown' }]),
  {
    request: 'HEAD messages',
    with: { ...ann, prefer: 'count=exact' },
    status: 200,
    headers: { 'content-range': '0-2/3' },
  },
];
describe('row-level security', () => {
  givesResponses(gateway, security);
});

interface Denial {
  readonly status: 400 | 401 | 403;
  readonly code: string;
  readonly message: string;
  readonly challenge?: string | RegExp;
}
const denied = (
  request: string,
  headers: Record<string, string>,
  { status, code, message, challenge }: Denial,
): ResponseCase => ({
  request,
  with: headers,
  status,
  body: new RegExp(`"message":"${message.replace(/[.()]/g, '\\$&')}`),
  headers: { 'proxy-status': `gw; error=${code}`, 'www-authenticate': challenge ?? null },
});
const refusals: readonly ResponseCase[] = [
  denied(
    'secrets',
    {},
    { status: 401, code: '42501', message: 'permission denied for table secrets', challenge: 'Bearer' },
  ),
  denied('secrets', ann, { status: 403, code: '42501', message: 'permission denied for table secrets' }),
  denied(
    'clients?select=id,secrets(id)',
    {},
    { status: 400, code: 'PGRST200', message: 'Could not find a relationship' },
  ),
  denied(
    'partly',
    {},
    { status: 401, code: '42501', message: 'permission denied for table partly', challenge: 'Bearer' },
  ),
  denied(
    'partly?select=id&concealed=eq.x',
    {},
    { status: 401, code: '42501', message: 'permission denied for table partly', challenge: 'Bearer' },
  ),
  ...['order=concealed.max()', 'having=concealed.max().is.null', 'distinct=on.(concealed)'].map((query) =>
    denied(
      `partly?select=id&${query}`,
      {},
      { status: 401, code: '42501', message: 'permission denied for table partly', challenge: 'Bearer' },
    ),
  ),
  denied('clients', as('no_such_role'), {
    status: 401,
    code: '22023',
    message: 'role \\\\"no_such_role\\\\" does not exist',
    challenge: 'Bearer',
  }),
  denied('clients', as('postgres'), { status: 403, code: '42501', message: 'permission denied to set role' }),
  denied('clients', as('authenticator'), { status: 403, code: '42501', message: 'permission denied' }),
  denied('/strict/clients', bearer(`${sign({ role: 'web_user' })}x`), {
    status: 401,
    code: 'PGRST301',
    message: 'No suitable key or wrong key type',
    challenge: /^Bearer error="invalid_token", error_description="/,
  }),
  denied('/strict/clients', bearer(sign({ role: 'web_user', exp: inSeconds(-60) })), {
    status: 401,
    code: 'PGRST303',
    message: 'JWT expired',
    challenge: 'Bearer error="invalid_token", error_description="JWT expired"',
  }),
  denied('/strict/clients', bearer('a.b'), {
    status: 401,
    code: 'PGRST301',
    message: 'Expected 3 parts in JWT; got 2',
    challenge: /invalid_token/,
  }),
  denied('/audience/clients', bearer(sign({ role: 'web_user', aud: 'other' })), {
    status: 401,
    code: 'PGRST303',
    message: 'JWT not in audience',
    challenge: /invalid_token/,
  }),
];
describe('missing privileges', () => {
  givesResponses(gateway, refusals);
});

const identities: readonly ResponseCase[] = [
  rows('whoami?select=role', {}, [{ role: 'anon' }]),
  rows('whoami?select=role', ann, [{ role: 'web_user' }]),
  rows('whoami?select=role', bearer(`${sign({ role: 'web_user' })}x`), [{ role: 'anon' }]),
  rows('whoami?select=role', bearer(sign({ role: 'web_user', exp: inSeconds(-60) })), [{ role: 'anon' }]),
  rows('/audience/whoami?select=role', bearer(sign({ role: 'web_user', aud: ['x', 'shop'] })), [
    { role: 'web_user' },
  ]),
  rows('/path/whoami?select=role', bearer(sign({ app: { roles: ['x', 'web_admin'] } })), [
    { role: 'web_admin' },
  ]),
  rows('/path/whoami?select=role', bearer(sign({ app: { roles: ['web_user'] } })), [{ role: 'anon' }]),
  rows('whoami?select=claims->>sub,jwt', ann, [{ sub: 'ann', jwt: ann['authorization']?.slice(7) }]),
  rows('whoami?select=jwt,claims', bearer('x.y.z'), [{ jwt: '', claims: { role: 'anon' } }]),
];
describe('the role of a request', () => {
  givesResponses(gateway, identities);
});

test('requests of three roles that run at once each see their own', async () => {
  const askers = [
    { headers: {}, seen: [1, 3] },
    { headers: ann, seen: [1, 2, 3] },
    { headers: bob, seen: [1, 3, 4] },
    { headers: admin, seen: [1, 2, 3, 4] },
  ];
  const foreign = await Promise.all(
    Array.from({ length: 400 }, async (_, i) => {
      const { headers, seen } = askers[(i * 7) % askers.length] ?? { headers: {}, seen: [] };
      const { body } = await gateway.ask('messages?select=id&order=id', headers);
      return body.replace(/\s/g, '') === JSON.stringify(ids(...seen)) ? undefined : body;
    }),
  );
  expect(foreign.filter(Boolean)).toEqual([]);
});

test('a terse location sends no details and hints', async () => {
  const { body } = await gateway.ask('/minimal/employees?id=0');
  expect(body).toBe('{"code":"PGRST100","message":"\\"failed to parse filter (0)\\" (line 1, column 1)"}');
  expect((await gateway.ask('/minimal/clint')).body).not.toContain('clients');
});

test('the settings of a role apply, and end with its request', async (t) => {
  const db = await postgres(`create role hasty; grant hasty to authenticator;
    alter role hasty set statement_timeout = '70ms';
    alter role hasty set "TimeZone" = 'Asia/Tokyo';
    alter role hasty set extra_float_digits = 0;
    alter role hasty set search_path = nowhere;
    alter role hasty set default_transaction_isolation = 'serializable';
    create view settings as select current_setting('statement_timeout') as timeout, current_setting('timezone') as zone,
      current_setting('extra_float_digits') as digits, current_setting('search_path') as path;
    create view slow as select 1 as n from pg_sleep(20);
    grant select on settings, slow to hasty, anon;`);
  const conf = (
    timeout: string,
  ): string => `server { location / { dbrest_pass ${db.dsn}; dbrest_anon_role anon;
    dbrest_jwt_secret "${SECRET}"; dbrest_pool_size 1; dbrest_timeout ${timeout}; } }`;
  const gw = await startGateway(t, conf('9s'));
  const hasty = as('hasty');
  const seen = async (headers: Record<string, string>): Promise<unknown> =>
    JSON.parse((await gw.fetch('/settings', { headers })).body);
  const before = await seen({});
  expect(await seen(hasty)).toEqual([{ timeout: '70ms', zone: 'Asia/Tokyo', digits: '0', path: '"public"' }]);
  expect(await seen({ ...hasty, prefer: 'timezone=UTC' })).toMatchObject([{ zone: 'UTC' }]);
  expect(await seen({})).toEqual(before);
  expect(await seen({ prefer: 'timeout=3' })).toMatchObject([{ timeout: '3s' }]);
  expect(await seen({ prefer: 'timeout=0.25' })).toMatchObject([{ timeout: '250ms' }]);
  expect(await seen({ prefer: 'timeout=3s' })).toMatchObject([{ timeout: '9s' }]);
  // A role's limit holds, whatever its clients prefer.
  expect(await seen({ ...hasty, prefer: 'timeout=1' })).toMatchObject([{ timeout: '70ms' }]);
  await gw.expect('GET /slow', { status: 500, body: /"57014"/ }, { headers: { prefer: 'timeout=0.1' } });
  await gw.waitForLog(/\[info\].* dbrest: 57014 .*"GET \/slow/);
  expect(gw.errorLog()).not.toContain('[error]');
  await gw.expect(
    'GET /slow',
    { status: 500, headers: { 'proxy-status': 'gw; error=57014' } },
    { headers: hasty },
  );
  await gw.waitForLog(/\[error\].* dbrest: 57014 .*"GET \/slow/);
  expect(await gw.reload(conf('50ms'))).toBe('done');
  expect(await seen(hasty)).toMatchObject([{ timeout: '50ms' }]);
});
