import { expect, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { startPeer } from '../../harness/peer.ts';
import { CLIENT_ID, CLIENT_SECRET, type FakeProvider, startProvider } from './provider.ts';
import { PAGE, Visitor } from './visitor.ts';

const load = oneGateway({ workers: 2, main: '' });

const KEY = '0123456789abcdef'.repeat(4);

/** A site that nginz's directives describe, as its documentation has it. */
async function start(
  t: Owner,
  { more = '', content = 'echo -n "$oidc_claim_sub $oidc_claim_email";' } = {},
): Promise<{ readonly gw: Gateway; readonly provider: FakeProvider; readonly visitor: Visitor }> {
  const provider = await startProvider(t);
  const gw = await load(
    t,
    `large_client_header_buffers 4 32k; server { location / { oidc on;
       oidc_discovery ${provider.issuer}/.well-known/openid-configuration; oidc_client_id ${CLIENT_ID};
       oidc_client_secret "${CLIENT_SECRET}"; oidc_redirect_uri /callback; oidc_cookie_secret ${KEY}; ${more} ${content} } }`,
  );
  return { gw, provider, visitor: new Visitor() };
}

test('nginz describes a provider in its location, and sessions are in cookies', async (t) => {
  const { gw, provider, visitor } = await start(t);
  provider.claims = { ...provider.claims, email: 'ann@example.net' };
  expect(await visitor.follow(`${gw.url}/a?b=c`)).toMatchObject({ status: 200, body: 'ann ann@example.net' });
  expect(Object.fromEntries(provider.lastLogin)).toMatchObject({
    scope: 'openid profile email',
    redirect_uri: `${gw.url}/callback`,
    code_challenge_method: 'S256',
  });
  expect([...visitor.cookies(gw.port).keys()]).toEqual(['oidc_session']);
  for (let n = 0; n < 10; n += 1) expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
});

test('its names of scopes and of the cookie count, and it may do without PKCE', async (t) => {
  const { gw, provider, visitor } = await start(t, {
    more: 'oidc_scope "openid groups"; oidc_cookie_name site; oidc_pkce off; oidc_allow_insecure_http on;',
  });
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
  expect(provider.lastLogin.get('scope')).toBe('openid groups');
  expect(provider.lastLogin.has('code_challenge')).toBe(false);
  expect([...visitor.cookies(gw.port).keys()]).toEqual(['site']);
});

test('a session that is too large for a cookie is in several, and no upstream gets one', async (t) => {
  const up = await startPeer(t, 'up', (request, response) => response.end(request.headers.cookie ?? 'none'));
  const { gw, provider, visitor } = await start(t, { content: `proxy_pass http://127.0.0.1:${up.port};` });
  provider.claims = { ...provider.claims, padding: 'x'.repeat(5_000) };
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200, body: 'none' });
  const jar = visitor.cookies(gw.port);
  expect([...jar.keys()]).toEqual(['oidc_session', 'oidc_session_part1', 'oidc_session_part2']);
  for (const value of jar.values()) expect(value.length).toBeLessThan(4_000);
  jar.delete('oidc_session_part1');
  expect(await visitor.open(`${gw.url}/`, { headers: { accept: '*/*' } })).toMatchObject({ status: 401 });
  provider.claims = { sub: 'ann' };
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
  expect([...jar.keys()]).toEqual(['oidc_session']);
});

test('a session that is too large for four cookies is none', async (t) => {
  const { gw, provider, visitor } = await start(t);
  provider.claims = { ...provider.claims, padding: 'x'.repeat(12_000) };
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 503 });
  await gw.waitForLog(/\[error\] .*a session in cookies has more than 15200 bytes/);
});

const changed = [
  { it: 'that has been changed', change: (value: string) => `${value.slice(0, -2)}xx` },
  { it: 'that has been cut', change: (value: string) => value.slice(0, 100) },
  { it: 'of nobody', change: () => 'x' },
  { it: 'that names parts which are not there', change: (value: string) => `4~${value}` },
];

for (const { it, change } of changed)
  test(`a session cookie ${it} is no session`, async (t) => {
    const { gw, visitor } = await start(t);
    await visitor.follow(gw.url);
    const value = visitor.cookies(gw.port).get('oidc_session') ?? '';
    const cookie = `oidc_session=${change(value)}`;
    expect((await gw.fetch('/', { headers: { ...PAGE, cookie } })).status).toBe(302);
  });
