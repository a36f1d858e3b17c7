import { expect, test } from 'vitest';
import { returnTarget } from '../../../src/modules/auth_oidc/site.ts';
import { perTier } from '../../harness/tier.ts';
import { call } from '../../harness/http.ts';
import { CLIENT_ID, type FakeProvider } from './provider.ts';
import { siteLoader } from './site.ts';
import { PAGE, Visitor } from './visitor.ts';

const load = siteLoader();

test('a browser logs in, comes back to where it was, and has a session with all workers', async (t) => {
  const { gw, provider, visitor } = await load(t);
  const page = await visitor.follow(`${gw.url}/page?a=1&b=%2F`);
  expect(page).toMatchObject({ status: 200, body: 'ann a,b /page?a=1&b=%2F' });
  expect(page.urls[1]).toContain(`${provider.issuer}/authorize?response_type=code&client_id=gateway&`);
  expect(page.urls[2]).toContain(`${gw.url}/oidc_callback?code=`);
  expect(page.urls[3]).toBe(`${gw.url}/page?a=1&b=%2F`);
  expect([...visitor.cookies(gw.port).keys()]).toEqual(['NGX_OIDC_SESSION']);
  for (let n = 0; n < 20; n += 1) expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
});

const asked = [
  { it: 'PKCE if the provider lists S256', pkce: true },
  { it: 'no PKCE if it does not', metadata: { code_challenge_methods_supported: ['plain'] }, pkce: false },
  { it: 'no PKCE after "pkce off"', more: 'pkce off;', pkce: false },
  {
    it: 'PKCE after "pkce on" in any case',
    more: 'pkce on;',
    metadata: { code_challenge_methods_supported: undefined },
    pkce: true,
  },
  {
    it: 'the configured scopes, and always openid',
    more: 'scope email profile;',
    args: { scope: 'openid email profile' },
  },
  {
    it: 'further arguments',
    more: 'extra_auth_args "prompt=login&ui_locales=de%20fr";',
    args: { prompt: 'login', ui_locales: 'de fr', scope: 'openid' },
  },
  { it: 'another path to come back to', more: 'redirect_uri /back;', path: '/back' },
  {
    it: 'its secret in the body if the provider takes no header',
    metadata: POST_ONLY(),
    authentication: 'post',
  },
  { it: 'its secret in a header if the provider takes both', metadata: POST_ONLY('client_secret_basic') },
];

function POST_ONLY(...more: string[]): Record<string, unknown> {
  return { token_endpoint_auth_methods_supported: ['client_secret_post', ...more] };
}

for (const {
  it,
  more = '',
  metadata = {},
  pkce,
  args = {},
  path = '/oidc_callback',
  authentication = 'Basic',
} of asked) {
  test(`a login asks for ${it}`, async (t) => {
    const prepare = (one: FakeProvider): void => {
      one.metadata = metadata;
      one.takesBasic = authentication === 'Basic';
    };
    const { gw, provider, visitor } = await load(t, { more, prepare });
    expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
    const given = Object.fromEntries(provider.lastLogin);
    const base = { response_type: 'code', client_id: CLIENT_ID, redirect_uri: gw.url + path, ...args };
    expect(given).toMatchObject(base);
    expect(given['state']).toMatch(/^[\w-]{43}$/);
    expect(given['nonce']).toMatch(/^[\w-]{43}$/);
    if (pkce !== undefined) expect(given['code_challenge_method']).toBe(pkce ? 'S256' : undefined);
    expect(provider.lastAuthentication).toBe(authentication);
  });
}

const cookies = [
  { it: 'without "Secure" on a loopback address', host: '127.0.0.1', secure: '' },
  { it: 'with "Secure" for any other host', host: 'app.example', secure: ' Secure;' },
  {
    it: 'under the name of the configuration',
    more: 'cookie_name __Host-id;',
    host: 'app.example',
    secure: ' Secure;',
    name: '__Host-id',
  },
];

for (const { it, more = '', host, secure, name = 'NGX_OIDC_SESSION' } of cookies) {
  test(`cookies are set ${it}`, async (t) => {
    const { gw, visitor } = await load(t, { more });
    const headers = { host };
    const begun = await visitor.open(gw.url, { headers });
    expect(begun.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(`^${name}_login_\\w+=[\\w-]+; Path=/; HttpOnly;${secure} SameSite=Lax; Max-Age=600$`),
      ),
    ]);
    const atProvider = await visitor.open(begun.headers.get('location') ?? '');
    const { search } = new URL(atProvider.headers.get('location') ?? '');
    const back = await visitor.open(`${gw.url}/oidc_callback${search}`, { headers });
    expect(back.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(`^${name}_login_\\w+=; Path=/; HttpOnly;${secure} SameSite=Lax; Max-Age=0$`),
      ),
      expect.stringMatching(new RegExp(`^${name}=[\\w-]{43}; Path=/; HttpOnly;${secure} SameSite=Lax$`)),
    ]);
    expect(back.headers.get('cache-control')).toBe('no-store');
  });
}

test('behind another server, clients come back to the URL of the configuration', async (t) => {
  const { gw, provider, visitor } = await load(t, { more: 'redirect_uri https://app.example/back;' });
  const begun = await visitor.open(gw.url);
  expect(begun.headers.get('set-cookie')).toContain('; Secure;');
  const atProvider = await visitor.open(begun.headers.get('location') ?? '');
  const { origin, search } = new URL(atProvider.headers.get('location') ?? '');
  expect(origin).toBe('https://app.example');
  const back = await visitor.open(`${gw.url}/back${search}`);
  expect(back).toMatchObject({ status: 302 });
  expect(provider.lastLogin.get('redirect_uri')).toBe('https://app.example/back');
  expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
});

const targets = [
  { it: 'the path and query that were asked for', target: '/a/b?c=d&e=%20', back: '/a/b?c=d&e=%20' },
  { it: 'characters beyond ASCII encoded', target: '/ä"<>', back: '/%C3%A4"<>' },
  { it: 'encoded line ends as they are', target: '/a%0d%0aSet-Cookie:x', back: '/a%0d%0aSet-Cookie:x' },
  { it: 'nothing of another host', target: '//evil.example/a', back: '/' },
  { it: 'nothing with a backslash', target: '/\\evil.example', back: '/' },
  { it: 'nothing with a backslash in the query', target: '/a?\\evil.example', back: '/' },
  { it: 'nothing with a line end', target: '/a\r\nSet-Cookie: x', back: '/' },
  { it: 'nothing with a tab', target: '/\t/evil.example', back: '/' },
  { it: 'nothing with a scheme', target: 'https://evil.example/', back: '/' },
  { it: 'nothing with a scheme that is a script', target: 'javascript:alert(1)', back: '/' },
  { it: 'nothing that is empty', target: '', back: '/' },
  {
    it: 'the path alone, if the query is too long for a cookie',
    target: `/a?${'x'.repeat(2_000)}`,
    back: '/a',
  },
  { it: 'nothing too long for a cookie', target: `/${'x'.repeat(2_000)}`, back: '/' },
];

for (const { it, target, back } of targets)
  test(`a login remembers ${it}`, () => expect(returnTarget(target)).toBe(back));

test('whatever a login remembers leads to the own host', () => {
  const pieces = [
    '/',
    '//',
    '\\',
    '\t',
    '\n',
    '\r',
    ' ',
    '.',
    '..',
    ':',
    '@',
    '?',
    '#',
    '%2f',
    '%5c',
    '%0a',
    'ä',
    '\u2028',
  ];
  const words = ['evil.example', 'https:', 'javascript:alert(1)', 'a', ''];
  const all = [...pieces, ...words];
  let seed = 1;
  const draw = (): string => {
    seed = (seed * 48_271) % 2_147_483_647;
    return all[seed % all.length] ?? '';
  };
  for (let n = 0; n < perTier({ short: 5_000, long: 500_000 }); n += 1) {
    const target = returnTarget(Array.from({ length: 1 + (n % 7) }, draw).join(''));
    const { origin } = new URL(target, 'https://own.example/page');
    expect(origin, JSON.stringify(target)).toBe('https://own.example');
    expect(target).toMatch(/^\/[!-~]*$/);
  }
});

const sent = [
  { path: '//evil.example/a', back: '/' },
  { path: '/a/..//evil.example?b', back: '/a/..//evil.example?b' },
  { path: `/a?${'x'.repeat(2_000)}`, back: '/a' },
];

for (const { path, back } of sent)
  test(`a browser that asked for ${path.slice(0, 30)} gets back to ${back}`, async (t) => {
    const site = 'server { merge_slashes off; location / { auth_oidc idp; echo hello; } }';
    const { gw, visitor } = await load(t, { site });
    const begun = await call(gw.port, path, { headers: PAGE });
    const [, name = '', value = ''] = /^([^=]+)=([^;]+)/.exec(begun.headers.get('set-cookie') ?? '') ?? [];
    visitor.cookies(gw.port).set(name, value);
    const atProvider = await visitor.open(begun.headers.get('location') ?? '');
    const finished = await visitor.open(atProvider.headers.get('location') ?? '');
    expect(finished.headers.get('location')).toBe(back);
  });

const programs = [
  { it: 'a POST', init: { method: 'POST', headers: PAGE } },
  { it: 'a request by a script', init: { headers: { ...PAGE, 'sec-fetch-mode': 'cors' } } },
  { it: 'a WebSocket', init: { headers: { ...PAGE, 'sec-fetch-mode': 'websocket' } } },
  { it: 'a request that accepts no HTML', init: { headers: { accept: '*/*' } } },
  { it: 'a request that accepts nothing in particular', init: { headers: {} } },
];

for (const { it, init } of programs) {
  test(`${it} gets 401, no redirect and no cookie`, async (t) => {
    const { gw } = await load(t);
    const response = await gw.fetch('/', init);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(
      'Cookie realm="idp", cookie-name="NGX_OIDC_SESSION"',
    );
    expect(response.headers.get('set-cookie')).toBeNull();
  });
}

test('HEAD of a page is redirected, too', async (t) => {
  const { gw, visitor } = await load(t);
  expect(await visitor.open(gw.url, { method: 'HEAD' })).toMatchObject({ status: 302, body: '' });
});

test('a browser has at most five logins at once; the oldest is forgotten', async (t) => {
  const { gw, visitor } = await load(t);
  const begun: string[] = [];
  for (let n = 0; n < 7; n += 1) {
    const response = await visitor.open(gw.url);
    begun.push(response.headers.get('location') ?? '');
    // Names of cookies begin with the time.
    const { size } = visitor.cookies(gw.port);
    expect(size).toBe(Math.min(n + 1, 5));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const backFrom = async (url = ''): Promise<number> => {
    const atProvider = await new Visitor().open(url);
    return (await visitor.open(atProvider.headers.get('location') ?? '')).status;
  };
  expect(await backFrom(begun[0])).toBe(400);
  expect(await backFrom(begun[6])).toBe(302);
  expect(await backFrom(begun[2])).toBe(302);
});
