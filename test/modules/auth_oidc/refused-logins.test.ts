import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inSeconds } from '../../harness/tokens.ts';
import { type FakeProvider, foreignKey } from './provider.ts';
import { SITE, siteLoader } from './site.ts';
import { Visitor } from './visitor.ts';

const load = siteLoader();

interface Case {
  readonly it: string;
  /** Of the ID token. */
  readonly claims?: Record<string, unknown>;
  readonly prepare?: (provider: FakeProvider) => void;
  readonly status: number;
  readonly log?: RegExp;
}

const cases: readonly Case[] = [
  {
    it: 'an ID token of another issuer',
    claims: { iss: 'https://other.example' },
    status: 403,
    log: /"iss"/,
  },
  { it: 'an ID token for another audience', claims: { aud: 'another' }, status: 403, log: /"aud"/ },
  {
    it: 'an ID token for several audiences and nobody in particular',
    claims: { aud: ['gateway', 'b'] },
    status: 403,
  },
  {
    it: 'an ID token that was given to another client',
    claims: { azp: 'another' },
    status: 403,
    log: /another client/,
  },
  {
    it: 'an ID token with the nonce of another login',
    claims: { nonce: 'another' },
    status: 403,
    log: /"nonce"/,
  },
  { it: 'an ID token without a nonce', claims: { nonce: undefined }, status: 403 },
  { it: 'an ID token that has expired', claims: { exp: inSeconds(-3_600) }, status: 403, log: /"exp"/ },
  { it: 'an ID token without an end', claims: { exp: undefined }, status: 403 },
  { it: 'an ID token without a beginning', claims: { iat: undefined }, status: 403 },
  { it: 'an ID token from the future', claims: { iat: inSeconds(3_600) }, status: 403, log: /future/ },
  { it: 'an ID token without a subject', claims: { sub: undefined }, status: 403 },
  {
    it: 'an ID token that another key has signed',
    prepare: (provider) => (provider.signer = foreignKey()),
    status: 403,
    log: /a login at "idp" is refused: the token is refused: key/,
  },
  {
    it: 'an ID token without a signature',
    prepare: (provider) =>
      (provider.respond = (tokens) => {
        const [, claims] = String(tokens['id_token']).split('.');
        const header = Buffer.from('{"alg":"none"}').toString('base64url');
        return { ...tokens, id_token: `${header}.${claims}.` };
      }),
    status: 403,
  },
  {
    it: 'no ID token',
    prepare: (provider) => (provider.respond = (tokens) => ({ ...tokens, id_token: undefined })),
    status: 403,
  },
  {
    it: 'an access token of an unknown kind',
    prepare: (provider) => (provider.respond = (tokens) => ({ ...tokens, token_type: 'mac' })),
    status: 403,
  },
  {
    it: 'tokens that are too large',
    prepare: (provider) => (provider.respond = (tokens) => ({ ...tokens, access_token: 'x'.repeat(70_000) })),
    status: 503,
    log: /\[error\] .*nobody can log in at "idp": a session has more than 65536 bytes/,
  },
  {
    it: 'a response that is too long',
    prepare: (provider) =>
      (provider.respond = (tokens) => ({ ...tokens, access_token: 'x'.repeat(1_100_000) })),
    status: 503,
    log: /longer than 1048576 bytes/,
  },
];

for (const { it, claims = {}, prepare, status, log } of cases) {
  test(`${it} is refused, and gives no session`, async (t) => {
    const { gw, provider, visitor } = await load(t);
    provider.alter = (before) => ({ ...before, ...claims });
    prepare?.(provider);
    const page = await visitor.follow(gw.url);
    expect(page).toMatchObject({ status, urls: { length: 3 } });
    expect([...visitor.cookies(gw.port)]).toEqual([]);
    if (log) await gw.waitForLog(log);
  });
}

interface Change {
  readonly it: string;
  /** The arguments with which the browser comes back; `null`: without. */
  readonly change: Readonly<Record<string, string | null>>;
  readonly status: number;
  readonly log?: RegExp;
}

/** Begins a login, and gives the URL with which the provider sends the browser back. */
async function cameBack(visitor: Visitor, url: string): Promise<URL> {
  const begun = await visitor.open(url);
  const atProvider = await visitor.open(begun.headers.get('location') ?? '');
  return new URL(atProvider.headers.get('location') ?? '');
}

const changed: readonly Change[] = [
  { it: 'an unknown state', change: { state: 'x'.repeat(43) }, status: 400 },
  { it: 'no state', change: { state: null }, status: 400 },
  { it: 'another issuer', change: { iss: 'https://other.example' }, status: 400 },
  { it: 'no issuer, though the provider promises one', change: { iss: null }, status: 400 },
  {
    it: 'an error',
    change: { code: null, error: 'access_denied', error_description: '<b>no</b>' },
    status: 403,
  },
  {
    it: 'an error without the state of a login',
    change: { state: null, error: 'access_denied' },
    status: 400,
  },
  {
    it: 'an error that the configuration causes',
    change: { code: null, error: 'invalid_scope' },
    status: 403,
    log: /\[error\] .*a login at "idp" is refused: the provider reports "invalid_scope"/,
  },
  {
    it: 'an error with a code for a log file',
    change: { code: null, error: 'x" y' },
    status: 403,
    log: /the provider reports "an unusual code"/,
  },
  { it: 'a code that the provider does not know', change: { code: 'another' }, status: 403 },
  { it: 'no code', change: { code: null }, status: 403 },
];

for (const { it, change, status, log } of changed) {
  test(`a browser that comes back with ${it} gets ${status}, and nothing that it sent`, async (t) => {
    const { gw, visitor } = await load(t);
    const url = await cameBack(visitor, gw.url);
    for (const [name, value] of Object.entries(change)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    const response = await visitor.open(url.href);
    expect(response.status).toBe(status);
    expect(response.body).not.toMatch(/denied|<b>no|another|other.example/);
    expect(visitor.cookies(gw.port).has('NGX_OIDC_SESSION')).toBe(false);
    if (log) await gw.waitForLog(log);
  });
}

test('a gateway whose secret is wrong says so in its log', async (t) => {
  const { gw, provider, visitor } = await load(t);
  provider.takesBasic = false;
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 503 });
  await gw.waitForLog(/\[error\] .*nobody can log in at "idp": the provider reports "invalid_client"/);
});

const again = [
  { it: 'by the provider', keepsCodes: false, status: 403, log: /the provider reports "invalid_grant"/ },
  { it: 'by the gateway', keepsCodes: true, status: 400, log: /its state was used before/ },
];

for (const { it, keepsCodes, status, log } of again)
  test(`a login whose cookie is sent again is refused ${it}`, async (t) => {
    const { gw, provider, visitor } = await load(t);
    provider.keepsCodes = keepsCodes;
    const url = await cameBack(visitor, gw.url);
    const thief = new Visitor();
    for (const [name, value] of visitor.cookies(gw.port)) thief.cookies(gw.port).set(name, value);
    expect(await visitor.open(url.href)).toMatchObject({ status: 302 });
    expect(await visitor.open(url.href)).toMatchObject({ status: 400 });
    expect(await thief.open(url.href)).toMatchObject({ status });
    expect(thief.cookies(gw.port).has('NGX_OIDC_SESSION')).toBe(false);
    await gw.waitForLog(log);
  });

test('a browser cannot finish a login that another one has begun', async (t) => {
  const { gw, visitor } = await load(t);
  const url = await cameBack(visitor, gw.url);
  const victim = new Visitor();
  await victim.open(gw.url);
  expect(await victim.open(url.href)).toMatchObject({ status: 400 });
  expect(victim.cookies(gw.port).has('NGX_OIDC_SESSION')).toBe(false);
});

test('a login cookie that somebody has changed counts for nothing', async (t) => {
  const { gw, visitor } = await load(t);
  const url = await cameBack(visitor, gw.url);
  const [[name, value] = ['', '']] = visitor.cookies(gw.port);
  visitor.cookies(gw.port).set(name, `${value.slice(0, -1)}${value.endsWith('A') ? 'B' : 'A'}`);
  expect(await visitor.open(url.href)).toMatchObject({ status: 400 });
});

test('a browser may come back by GET only', async (t) => {
  const { gw, visitor } = await load(t);
  const url = await cameBack(visitor, gw.url);
  const response = await visitor.open(url.href, { method: 'POST', body: '' });
  expect(response).toMatchObject({ status: 405 });
  expect(response.headers.get('allow')).toBe('GET, HEAD');
});

test('while the provider is away, nobody logs in, and sessions go on', async (t) => {
  const { gw, provider, visitor } = await load(t);
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
  const half = new Visitor();
  const url = await cameBack(half, gw.url);
  await provider.die();
  const finished = await half.open(url.href);
  expect(finished).toMatchObject({ status: 503 });
  expect(finished.headers.get('retry-after')).toBe('5');
  await gw.waitForLog(/\[error\] .*nobody can log in at "idp": 127.0.0.1:\d+: .*ECONNREFUSED/);
  expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
});

test('a provider that has never been there: 503, and a login once it is', async (t) => {
  const { gw, provider, visitor } = await load(t, { more: 'config_url http://127.0.0.1:1/metadata;' });
  const response = await visitor.open(gw.url);
  expect(response).toMatchObject({ status: 503 });
  expect(response.headers.get('retry-after')).toBe('5');
  expect(provider.asked).toEqual([]);
});

const metadata = [
  { it: 'sends codes in the clear', document: { token_endpoint: 'http://provider.example/token' } },
  { it: 'has no page for a login', document: { authorization_endpoint: undefined } },
  { it: 'sends browsers to a script', document: { authorization_endpoint: 'javascript:alert(1)' } },
];

for (const { it, document } of metadata) {
  test(`a provider that ${it} is not used`, async (t) => {
    const { gw, visitor } = await load(t, {
      prepare: (provider) => {
        provider.metadata = document;
      },
    });
    expect(await visitor.open(gw.url)).toMatchObject({ status: 503 });
    await gw.waitForLog(/the metadata of the provider has no usable "(token|authorization)_endpoint"/);
  });
}

test('a provider that does not respond in 5 s is away', async (t) => {
  const { gw, provider, visitor } = await load(t);
  provider.delays = true;
  const url = await cameBack(visitor, gw.url);
  expect(await visitor.open(url.href)).toMatchObject({ status: 503 });
  await gw.waitForLog(/nobody can log in at "idp": 127.0.0.1:\d+: no response within 5 s/);
});

test('no log has the code, the state or the cookies of a login', async (t) => {
  const site = `log_format all "$remote_addr $request $request_uri $args $query_string $arg_code $http_cookie";
    access_log all.log all; ${SITE}`;
  const { gw, provider, visitor } = await load(t, { site });
  provider.signer = foreignKey();
  const page = await visitor.follow(gw.url);
  expect(page.status).toBe(403);
  await gw.waitForLog(/a login at "idp" is refused/);
  const { searchParams } = new URL(page.urls.at(-1) ?? '');
  const access = (): string => readFileSync(join(gw.dir, 'all.log'), 'utf8');
  await expect.poll(access).toContain('127.0.0.1 GET /oidc_callback HTTP/1.1 /oidc_callback');
  for (const name of ['code', 'state']) {
    const secret = searchParams.get(name) ?? '';
    expect(secret).not.toBe('');
    expect(access() + gw.errorLog()).not.toContain(secret);
  }
  expect(access()).not.toContain('_login_');
});
