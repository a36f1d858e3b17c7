import { expect, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import { postgres } from '../../harness/postgres.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';
import { WHOAMI } from '../dbrest/token-location.ts';
import { jwks, startMetadata } from './issuer.ts';

const load = oneGateway();
const files = { 'keys.json': jwks({ a: SECRET }) };
const ISSUERS = `token_issuer one { issuer https://one.example; key_file keys.json; }
  token_issuer two { issuer https://two.example; key_file keys.json; }`;
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

const host = (name: string) => ({ headers: { host: name } });
const portOf = (gw: Gateway): string => new URL(gw.url).port;
const token = (aud: string | undefined, name = 'api.example') => ({
  headers: {
    ...bearer(sign({ sub: 'ann', iss: 'https://one.example', ...(aud !== undefined && { aud }) })),
    host: name,
  },
});

const API = `${ISSUERS} server { server_name api.example *.api.example; auth_jwt api; auth_jwt_issuer one two; auth_jwt_scope read;
       location /a/ { auth_jwt_resource on "scopes=read write" docs=https://docs.example/a; auth_jwt_audience resource; echo -n ok; }
       location /b { auth_jwt_resource https://b.example/tenant/b; echo ok; }
       location / { deny all; } }`;

test('a location tells where its tokens are issued, and points refused requests there', async (t) => {
  const gw = await load(t, API, files);
  const origin = `http://api.example:${portOf(gw)}`;
  const challenge = await gw.fetch('/a/x', host('api.example'));
  expect(challenge.status).toBe(401);
  expect(challenge.headers.get('www-authenticate')).toBe(
    `Bearer realm="api", resource_metadata="${origin}${WELL_KNOWN}/a/", scope="read"`,
  );
  const metadata = await gw.fetch(`${WELL_KNOWN}/a/`, host('api.example'));
  expect(metadata.status).toBe(200);
  expect(metadata.headers.get('access-control-allow-origin')).toBe('*');
  expect(metadata.headers.get('cache-control')).toBe('max-age=3600');
  expect(JSON.parse(metadata.body)).toEqual({
    resource: `${origin}/a/`,
    authorization_servers: ['https://one.example', 'https://two.example'],
    scopes_supported: ['read', 'write'],
    bearer_methods_supported: ['header'],
    tls_client_certificate_bound_access_tokens: true,
    resource_documentation: 'https://docs.example/a',
  });
  const b = await gw.fetch('/b');
  expect(b.headers.get('www-authenticate')).toContain(
    `resource_metadata="https://b.example${WELL_KNOWN}/tenant/b"`,
  );
  expect(JSON.parse((await gw.fetch(`${WELL_KNOWN}/tenant/b`)).body)).toMatchObject({
    resource: 'https://b.example/tenant/b',
    scopes_supported: ['read'],
  });
});

test('the metadata are for pages of any origin, to be read only', async (t) => {
  const gw = await load(t, API, files);
  await gw.expect(`OPTIONS ${WELL_KNOWN}/a/`, {
    status: 204,
    headers: { 'access-control-allow-headers': '*' },
  });
  await gw.expect(`HEAD ${WELL_KNOWN}/a/`, { status: 200, body: '' });
  await gw.expect(`POST ${WELL_KNOWN}/a/`, { status: 405 });
  await gw.expect(`GET ${WELL_KNOWN}/c`, { status: 403 });
});

test('the host of a resource is a name of the server, whatever host a request names', async (t) => {
  const gw = await load(
    t,
    `${ISSUERS} server { server_name api.example .wild.example; auth_jwt api; auth_jwt_issuer one; auth_jwt_resource on;
       auth_jwt_audience resource; location / { echo -n ok; } }`,
    files,
  );
  const resourceOf = async (name: string): Promise<string> => {
    const response = await gw.fetch(WELL_KNOWN, host(name));
    return (JSON.parse(response.body) as { resource: string }).resource;
  };
  const port = portOf(gw);
  expect(await resourceOf('api.example')).toBe(`http://api.example:${port}`);
  expect(await resourceOf('api.example:9999')).toBe(`http://api.example:${port}`);
  expect(await resourceOf('evil.example')).toBe(`http://api.example:${port}`);
  expect(await resourceOf('a.wild.example')).toBe(`http://a.wild.example:${port}`);
  await gw.expect('GET /', { status: 200, body: 'ok' }, token(`http://api.example:${port}`));
  await gw.expect('GET /', { status: 401 }, token(undefined));
  await gw.expect('GET /', { status: 401 }, token('http://evil.example'));
  await gw.expect('GET /', { status: 401 }, token(`http://evil.example:${port}`, 'evil.example'));
  await gw.expect('GET /', { status: 401 }, token('http://api.example:9999', 'api.example:9999'));
});

test('a location of the configuration comes before the metadata', async (t) => {
  const gw = await load(
    t,
    `${ISSUERS} server { server_name api.example; location = ${WELL_KNOWN} { return 200 own; }
       location / { auth_jwt api; auth_jwt_issuer one; auth_jwt_resource on; } }`,
    files,
  );
  await gw.expect(`GET ${WELL_KNOWN}`, { status: 200, body: 'own' });
});

test('tools for language models are a resource of their own, for which their tokens are issued', async (t) => {
  const db = await postgres(WHOAMI);
  const gw = await load(
    t,
    `${ISSUERS} server { server_name api.example; auth_jwt api; auth_jwt_issuer one;
       location /db/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_mcp on; }
       location /off/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_mcp on; auth_jwt_resource off; } }`,
    files,
  );
  const resource = `http://api.example:${portOf(gw)}/db/mcp`;
  const metadata = `http://api.example:${portOf(gw)}${WELL_KNOWN}/db/mcp`;
  const call = async (path: string, aud?: string | null) => {
    const { headers } = aud === null ? host('api.example') : token(aud);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    return gw.fetch(path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    });
  };
  const refused = await call('/db/mcp', null);
  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toBe(`Bearer realm="api", resource_metadata="${metadata}"`);
  expect(JSON.parse((await gw.fetch(new URL(metadata).pathname, host('api.example'))).body)).toMatchObject({
    resource,
    authorization_servers: ['https://one.example'],
  });
  expect((await call('/db/mcp', resource)).status).toBe(200);
  expect((await call('/db/mcp', 'https://other.example/mcp')).status).toBe(401);
  expect((await call('/db/mcp')).status).toBe(401);
  // The rows beside the tools are no part of that resource.
  const rows = await gw.fetch('/db/whoami', token(undefined));
  expect(rows.status).toBe(200);
  expect((await gw.fetch('/db/whoami', host('api.example'))).headers.get('www-authenticate')).toBe(
    'Bearer realm="api"',
  );
  expect((await call('/off/mcp')).status).toBe(200);
});

test('who is shut out of a location is shut out of its metadata', async (t) => {
  const gw = await load(
    t,
    `${ISSUERS} server { server_name api.example; auth_jwt api; auth_jwt_issuer one;
       location /a { auth_jwt_resource on; deny all; } location /b { auth_jwt_resource on; } }`,
    files,
  );
  await gw.expect(`GET ${WELL_KNOWN}/a`, { status: 403 });
  await gw.expect(`GET ${WELL_KNOWN}/b`, { status: 200 });
});

test('a rewrite to the tools does not take the token of other paths along', async (t) => {
  const [db, issuer] = [await postgres(WHOAMI), await startMetadata(t)];
  const gw = await load(
    t,
    `token_issuer me { issuer ${issuer.iss}; } server { server_name api.example; auth_jwt api; auth_jwt_issuer me;
       location /db/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_mcp on;
         rewrite ^/db/v1/(.*)$ /db/$1 last; rewrite ^/db/tools$ /db/mcp break; } }`,
  );
  const headers = {
    ...bearer(sign({ iss: issuer.iss, aud: 'https://other.example' })),
    host: 'api.example',
    'content-type': 'application/json',
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  for (const path of ['/db/mcp', '/db/v1/mcp', '/db/tools'])
    expect((await gw.fetch(path, { method: 'POST', headers, body })).status, path).toBe(401);
  expect((await gw.fetch('/db/whoami', { headers })).status).toBe(200);
});
