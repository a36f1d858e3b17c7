import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres } from '../../harness/postgres.ts';
import { bearer, inSeconds, SECRET, sign } from '../../harness/tokens.ts';

const FIXTURE = `
  create table tenants (name text);
  insert into tenants values ('a'), ('b');
  alter table tenants enable row level security;
  create policy by_header on tenants using (
    name = any (array[
      current_setting('request.headers', true)::json->>'x-tenant',
      current_setting('request.cookies', true)::json->>'tenant',
      current_setting('request.jwt.claims', true)::json->>'jti']));
  create view seen as select
    current_setting('request.headers', true) as headers, current_setting('request.cookies', true) as cookies,
    current_setting('request.jwt', true) as jwt, current_setting('request.jwt.claims', true) as claims,
    current_setting('request.method', true) as method, current_setting('request.uri', true) as uri;
  create function told() returns text stable language sql as $$ select headers || cookies || claims from seen $$;
  create function tag(tenants) returns text stable language sql as $$ select current_setting('request.headers', true) $$;
  grant select on tenants, seen to anon, web_user;
`;

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  const { dsn } = await postgres(FIXTURE);
  const serve = `dbrest_pass ${dsn}; dbrest_cache rows; dbrest_cache_rpc on; dbrest_cache_listen off; dbrest_cache_valid 1m;`;
  gw = await startGateway(
    file,
    (dir) => `
    proxy_cache_path ${dir}/cache keys_zone=rows:1m;
    dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}"; add_header X-Cache $upstream_cache_status;
    server {
      location /api/ { ${serve} }
      location /bypass/ { ${serve} dbrest_cache_bypass 1; }
      location /varied/ { ${serve} dbrest_cache_vary X-Tenant Cookie; }
      location /claims/ { ${serve} dbrest_cache_claims sub jti; }
      location /plain/ { dbrest_pass ${dsn}; }
    }`,
  );
});

const one = bearer(sign({ role: 'web_user', sub: 'ann', jti: 'a', exp: inSeconds(600) }));
const two = bearer(sign({ role: 'web_user', sub: 'ann', jti: 'b', exp: inSeconds(900) }));
const cases: [it: string, path: string, headers: Record<string, string>, body: string][] = [
  ['a header', '/plain/tenants', { 'x-tenant': 'a' }, '[{"name":"a"}]'],
  ['a header', '/api/tenants', { 'x-tenant': 'a' }, '[]'],
  ['a header', '/bypass/tenants', { 'x-tenant': 'a' }, '[]'],
  ['a header that is in the key', '/varied/tenants', { 'x-tenant': 'a' }, '[{"name":"a"}]'],
  ['another value of it', '/varied/tenants', { 'x-tenant': 'b' }, '[{"name":"b"}]'],
  ['a cookie', '/api/tenants?limit=9', { cookie: 'tenant=a' }, '[]'],
  ['cookies that are in the key', '/varied/tenants', { cookie: 'tenant=b' }, '[{"name":"b"}]'],
  ['a claim of this token alone', '/api/tenants', one, '[]'],
  ['a claim that counts', '/claims/tenants', one, '[{"name":"a"}]'],
  ['the same claim of another token', '/claims/tenants', two, '[{"name":"b"}]'],
  ['a header in a computed column', '/api/tenants?select=tag&limit=1', { 'x-tenant': 'a' }, '[]'],
  ['all in a function', '/api/rpc/told', { cookie: 'a=b', 'x-tenant': 'a' }, '"{}{}{\\"role\\":\\"anon\\"}"'],
];
test.each(cases)('%s is what the rows of %s may depend on (%j)', async (...[, path, headers, body]) => {
  for (let i = 0; i < 2; i += 1) expect((await gw.fetch(path, { headers })).body).toBe(body);
});

test('a request that may be served from the cache shows the database nothing that its key lacks', async () => {
  const path = '/api/seen?method=eq.GET&limit=1';
  const { body } = await gw.fetch(path, { method: 'GET', headers: { ...one, 'x-other': '1' } });
  const [seen] = JSON.parse(body) as Record<string, string>[];
  expect({ ...seen, claims: JSON.parse(seen?.['claims'] ?? '') as unknown }).toEqual({
    headers: '{}',
    cookies: '{}',
    jwt: '',
    claims: { role: 'web_user', sub: 'ann' },
    method: 'GET',
    uri: '/api/seen?limit=1&method=eq.GET',
  });
  const again = await gw.fetch('/api/seen?limit=1&method=eq.GET', { headers: { ...two, cookie: 'a=b' } });
  expect([again.headers.get('x-cache'), again.body]).toEqual(['HIT', body]);
});

test('the role is seen where only other claims count', async () => {
  const { body } = await gw.fetch('/claims/seen?select=claims', { headers: one });
  const [seen] = JSON.parse(body) as { claims: string }[];
  expect(JSON.parse(seen?.claims ?? '')).toEqual({ jti: 'a', role: 'web_user', sub: 'ann' });
});
