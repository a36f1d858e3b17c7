import { expect, test } from 'vitest';
import { inSeconds } from '../../harness/tokens.ts';
import type { Gateway } from '../../harness/gateway.ts';
import { type FakeProvider, foreignKey } from './provider.ts';
import { siteLoader } from './site.ts';
import { PAGE, Visitor } from './visitor.ts';

const load = siteLoader();

const statusOf = async (gw: Gateway, visitor: Visitor): Promise<number> =>
  (await visitor.open(gw.url)).status;

const leaving = [
  { it: 'to the provider', more: '', location: (issuer: string) => `${issuer}/logout?client_id=gateway` },
  {
    it: 'to the provider, which sends it back to a page here',
    more: 'post_logout_uri /bye;',
    location: (issuer: string, url: string) =>
      `${issuer}/logout?client_id=gateway&post_logout_redirect_uri=${encodeURIComponent(`${url}/bye`)}`,
  },
  {
    it: 'to a page elsewhere, if the provider knows no logout',
    more: 'post_logout_uri https://www.example/bye;',
    metadata: { end_session_endpoint: undefined },
    location: () => 'https://www.example/bye',
  },
  {
    it: 'to no other page, if nobody names one',
    more: '',
    metadata: { end_session_endpoint: undefined },
    location: () => null,
  },
];

for (const { it, more, metadata = {}, location } of leaving)
  test(`a logout ends the session and leads ${it}`, async (t) => {
    const { gw, provider, visitor } = await load(t, {
      more: `logout_uri /logout; ${more}`,
      prepare: (one) => {
        one.metadata = metadata;
      },
    });
    await visitor.follow(gw.url);
    const id = visitor.cookies(gw.port).get('NGX_OIDC_SESSION') ?? '';
    const response = await visitor.open(`${gw.url}/logout`);
    const to = location(provider.issuer, gw.url);
    expect(response.headers.get('location')).toBe(to);
    expect(response.status).toBe(to === null ? 200 : 302);
    if (to === null) expect(response.body).toContain('You have been logged out.');
    expect(response.headers.getSetCookie()).toEqual([
      'NGX_OIDC_SESSION=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
    ]);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const again = await gw.fetch('/', {
      headers: { ...PAGE, cookie: `NGX_OIDC_SESSION=${id}` },
    });
    expect(again.status).toBe(302);
  });

test('a logout without the cookie, as pages of other sites may ask for it, removes none', async (t) => {
  const { gw, visitor } = await load(t, { more: 'logout_uri /logout;' });
  await visitor.follow(gw.url);
  const response = await gw.fetch('/logout');
  expect(response.status).toBe(302);
  expect(response.headers.get('set-cookie')).toBeNull();
  expect(await statusOf(gw, visitor)).toBe(200);
});

test('the provider gets the ID token at a logout if that is configured', async (t) => {
  const site = 'server { location / { auth_oidc idp; echo -n $oidc_id_token; } }';
  const { gw, visitor } = await load(t, { more: 'logout_uri /logout; logout_token_hint on;', site });
  const token = (await visitor.follow(gw.url)).body;
  const response = await visitor.open(`${gw.url}/logout`);
  expect(new URL(response.headers.get('location') ?? '').searchParams.get('id_token_hint')).toBe(token);
});

test('the URIs of a provider belong to the servers whose locations ask it, and to no others', async (t) => {
  const site = `server { location /in { auth_oidc idp; echo in; } location / { echo -n page; } }
    server { server_name other; location / { echo -n other; } }`;
  const { gw } = await load(t, { more: 'logout_uri /logout;', site });
  for (const path of ['/logout', '/oidc_callback']) {
    expect((await gw.fetch(path, { headers: { host: 'other' } })).body).toBe('other');
    expect((await gw.fetch(path)).body).not.toBe('page');
  }
  expect((await gw.fetch('/else')).body).toBe('page');
});

test('a front-channel logout ends the session of the cookie', async (t) => {
  const { gw, visitor } = await load(t, { more: 'frontchannel_logout_uri /front;' });
  await visitor.follow(gw.url);
  expect(await visitor.open(`${gw.url}/front`)).toMatchObject({ status: 200, body: '' });
  expect(await statusOf(gw, visitor)).toBe(302);
});

const fronts = [
  { it: 'of its issuer and its id', args: (iss: string) => ({ iss, sid: 'sid-1' }), status: 200, after: 302 },
  { it: 'of another id', args: (iss: string) => ({ iss, sid: 'sid-2' }), status: 200, after: 200 },
  {
    it: 'of another issuer',
    args: () => ({ iss: 'https://other.example', sid: 'sid-1' }),
    status: 400,
    after: 200,
  },
  { it: 'without an id', args: (iss: string) => ({ iss }), status: 400, after: 200 },
];

for (const { it, args, status, after } of fronts)
  test(`a front-channel logout without a cookie, ${it}: ${status}, and the session has then ${after}`, async (t) => {
    const { gw, provider, visitor } = await load(t, { more: 'frontchannel_logout_uri /front;' });
    await visitor.follow(gw.url);
    const query = new URLSearchParams(args(provider.issuer)).toString();
    expect((await gw.fetch(`/front?${query}`)).status).toBe(status);
    expect(await statusOf(gw, visitor)).toBe(after);
  });

/** Sends a logout token as a provider does. */
async function logOut(gw: Gateway, token: string): Promise<number> {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams({ logout_token: token }).toString();
  return (await gw.fetch('/back', { method: 'POST', headers, body })).status;
}

interface Back {
  readonly it: string;
  readonly claims: Record<string, unknown>;
  readonly prepare?: (provider: FakeProvider) => void;
  /** The ids of the sessions at the provider, where they are others. */
  readonly sids?: readonly undefined[];
  readonly status: number;
  /** What the sessions have then: two of Ann, the second with another id, and one of Bob. */
  readonly after: readonly number[];
}

const STAY = [200, 200, 200];

const backs: readonly Back[] = [
  { it: 'by the id of a session', claims: { sid: 'sid-1', sub: 'ann' }, status: 200, after: [302, 200, 200] },
  { it: 'by the client alone', claims: { sub: 'ann' }, status: 200, after: [302, 302, 200] },
  {
    it: 'by an id that no session has, of a client',
    claims: { sid: 'sid-9', sub: 'ann' },
    status: 200,
    after: STAY,
  },
  {
    it: 'by an id, of a client whose sessions have none',
    claims: { sid: 'sid-9', sub: 'ann' },
    sids: [undefined, undefined, undefined],
    status: 200,
    after: [302, 302, 200],
  },
  { it: 'of nobody', claims: { sub: 'carol' }, status: 200, after: STAY },
  { it: 'without an id and a client', claims: {}, status: 400, after: STAY },
  { it: 'with a nonce', claims: { sub: 'ann', nonce: 'x' }, status: 400, after: STAY },
  { it: 'without the event', claims: { sub: 'ann', events: {} }, status: 400, after: STAY },
  { it: 'without events', claims: { sub: 'ann', events: undefined }, status: 400, after: STAY },
  { it: 'without an id of its own', claims: { sub: 'ann', jti: undefined }, status: 400, after: STAY },
  { it: 'for another audience', claims: { sub: 'ann', aud: 'b' }, status: 400, after: STAY },
  { it: 'of another issuer', claims: { sub: 'ann', iss: 'https://other.example' }, status: 400, after: STAY },
  { it: 'that has expired', claims: { sub: 'ann', exp: inSeconds(-600) }, status: 400, after: STAY },
  {
    it: 'of yesterday',
    claims: { sub: 'ann', iat: inSeconds(-86_400), exp: undefined },
    status: 400,
    after: STAY,
  },
  {
    it: 'that another key has signed',
    claims: { sub: 'ann' },
    prepare: (provider) => {
      provider.signer = foreignKey();
    },
    status: 400,
    after: STAY,
  },
];

for (const { it, claims, prepare, sids, status, after } of backs)
  test(`a logout token ${it}: ${status}`, async (t) => {
    const { gw, provider } = await load(t, { more: 'backchannel_logout_uri /back;' });
    const visitors = [new Visitor(), new Visitor(), new Visitor()];
    const all = [
      { sub: 'ann', sid: 'sid-1' },
      { sub: 'ann', sid: 'sid-2' },
      { sub: 'bob', sid: 'sid-3' },
    ];
    for (const [index, visitor] of visitors.entries()) {
      provider.claims = { ...all[index], ...(sids && { sid: sids[index] }) };
      await visitor.follow(gw.url);
    }
    prepare?.(provider);
    expect(await logOut(gw, provider.logoutToken(claims))).toBe(status);
    // Each worker is asked several times.
    for (const [index, visitor] of visitors.entries()) {
      const headers = headersOf(visitor, gw);
      for (let n = 0; n < 4; n += 1)
        expect((await gw.fetch('/', { headers })).status, `visitor ${index}`).toBe(after[index]);
    }
  });

function headersOf(visitor: Visitor, { port }: Gateway): Record<string, string> {
  return { ...PAGE, cookie: `NGX_OIDC_SESSION=${visitor.cookies(port).get('NGX_OIDC_SESSION') ?? ''}` };
}

test('a logout token counts once', async (t) => {
  const { gw, provider } = await load(t, { more: 'backchannel_logout_uri /back;' });
  const token = provider.logoutToken({ sub: 'ann' });
  expect(await logOut(gw, token)).toBe(200);
  expect(await logOut(gw, token)).toBe(400);
});

const malformed = [
  { it: 'GET', init: { method: 'GET' }, status: 405 },
  { it: 'an empty body', init: { method: 'POST', body: '' }, status: 400 },
  {
    it: 'a body that is too long',
    init: { method: 'POST', body: `logout_token=${'x'.repeat(70_000)}` },
    status: 413,
  },
  { it: 'an ID token', init: { method: 'POST', body: 'logout_token=a.b.c' }, status: 400 },
];

for (const { it, init, status } of malformed)
  test(`a back-channel logout with ${it} gets ${status}`, async (t) => {
    const { gw } = await load(t, { more: 'backchannel_logout_uri /back;' });
    expect((await gw.fetch('/back', init)).status).toBe(status);
  });
