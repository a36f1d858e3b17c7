import { expect, test } from 'vitest';
import type { FakeProvider } from './provider.ts';
import { siteLoader } from './site.ts';

const load = siteLoader();

const TOKEN = 'server { location / { auth_oidc idp; echo -n "$oidc_access_token $oidc_claim_n"; } }';

/** Gives access tokens that live for two seconds, so that each is renewed 1.6 s after it was given. */
function shortLived(provider: FakeProvider): void {
  provider.expiresIn = 2;
  provider.givesRefreshTokens = true;
}

test('tokens are renewed before they end, once for requests at once on all workers', async (t) => {
  const { gw, provider, visitor } = await load(t, { site: TOKEN, prepare: shortLived });
  provider.claims = { ...provider.claims, n: 1 };
  const first = (await visitor.follow(gw.url)).body;
  provider.claims = { ...provider.claims, n: 2 };
  expect((await visitor.open(gw.url)).body).toBe(first);
  expect(provider.refreshes).toBe(0);
  provider.expiresIn = 300;
  await expect.poll(async () => (await visitor.open(gw.url)).body, { timeout: 5_000 }).not.toBe(first);
  const all = await Promise.all(Array.from({ length: 40 }, () => visitor.open(gw.url)));
  const bodies = new Set(all.map(({ body }) => body));
  expect([...bodies]).toEqual([expect.stringMatching(/^access-\d+ 2$/)]);
  expect(provider.refreshes).toBe(1);
});

test('requests after the end of the tokens wait for one refresh', async (t) => {
  const { gw, provider, visitor } = await load(t, { site: TOKEN, prepare: shortLived });
  const first = (await visitor.follow(gw.url)).body;
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  provider.expiresIn = 300;
  const all = await Promise.all(Array.from({ length: 60 }, () => visitor.open(gw.url)));
  const bodies = new Set(all.map(({ status, body }) => `${status} ${body}`));
  expect(bodies.size).toBe(1);
  expect([...bodies][0]).toMatch(/^200 access-/);
  expect(bodies.has(`200 ${first}`)).toBe(false);
  expect(provider.refreshes).toBe(1);
});

const ended = [
  {
    it: 'the provider refuses',
    change: (provider: FakeProvider) => {
      provider.refuseRefresh = (response) =>
        response.writeHead(400, JSON_TYPE).end('{"error":"invalid_grant"}');
    },
  },
  {
    it: 'the new ID token is that of another client',
    change: (provider: FakeProvider) => {
      provider.claims = { sub: 'bob' };
    },
  },
  {
    it: 'the new ID token is meant for another audience',
    change: (provider: FakeProvider) => {
      provider.alter = (claims) => ({ ...claims, aud: 'another' });
    },
  },
];

const JSON_TYPE = { 'Content-Type': 'application/json' };

for (const { it, change } of ended)
  test(`a session ends when ${it}`, async (t) => {
    const { gw, provider, visitor } = await load(t, { prepare: shortLived });
    expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
    change(provider);
    await expect.poll(async () => (await visitor.open(gw.url)).status, { timeout: 5_000 }).toBe(302);
    await gw.waitForLog(/\[info\] .*a session at "idp" gets no new tokens: /);
    expect(provider.refreshes).toBe(1);
  });

test('while the provider is away, a session goes on to the end of its tokens, then 503, and comes back', async (t) => {
  const { gw, provider, visitor } = await load(t, { site: TOKEN, prepare: shortLived });
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
  provider.refuseRefresh = (response) => void response.writeHead(503).end();
  const seen: number[] = [];
  await expect
    .poll(
      async () => {
        const { status } = await visitor.open(gw.url);
        seen.push(status);
        return status;
      },
      { timeout: 8_000 },
    )
    .toBe(503);
  expect(new Set(seen)).toEqual(new Set([200, 503]));
  await gw.waitForLog(/\[error\] .*a session at "idp" gets no new tokens: /);
  provider.refuseRefresh = undefined;
  await expect.poll(async () => (await visitor.open(gw.url)).status, { timeout: 10_000 }).toBe(200);
});

test('tokens that end at once are not renewed', async (t) => {
  const { gw, provider, visitor } = await load(t, {
    prepare: (one) => {
      one.expiresIn = 0;
      one.givesRefreshTokens = true;
    },
  });
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
  expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
  expect(provider.refreshes).toBe(0);
});

const unrenewed = [
  { it: '"refresh off"', more: 'refresh off;', gives: true },
  { it: 'a provider that gives no refresh tokens', more: '', gives: false },
];

for (const { it, more, gives } of unrenewed)
  test(`with ${it}, a session outlives its access token`, async (t) => {
    const { gw, provider, visitor } = await load(t, {
      more,
      prepare: (one) => {
        one.expiresIn = 1;
        one.givesRefreshTokens = gives;
      },
    });
    expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
    expect(provider.refreshes).toBe(0);
  });

test('a session keeps its id at the provider, though a new ID token lacks it', async (t) => {
  const { gw, provider, visitor } = await load(t, {
    more: 'frontchannel_logout_uri /front;',
    prepare: shortLived,
  });
  await visitor.follow(gw.url);
  provider.claims = { sub: 'ann' };
  provider.expiresIn = 300;
  await expect
    .poll(async () => (await visitor.open(gw.url), provider.refreshes), { timeout: 5_000 })
    .toBeGreaterThan(0);
  const query = new URLSearchParams({ iss: provider.issuer, sid: 'sid-1' }).toString();
  expect((await gw.fetch(`/front?${query}`)).status).toBe(200);
  expect(await visitor.open(gw.url)).toMatchObject({ status: 302 });
});
