import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { startPeer } from '../../harness/peer.ts';
import { startProvider } from './provider.ts';
import { block, SITE, siteLoader } from './site.ts';
import { PAGE, Visitor } from './visitor.ts';

const load = siteLoader();

/** A location that shows the headers of its requests. */
const ECHO = 'echo -n "[$http_cookie] [$cookie_a] [$cookie_NGX_OIDC_SESSION]";';

test('claims, tokens and user information are variables, also before access', async (t) => {
  const site = `server { location / { auth_oidc idp;
      if ($oidc_claim_sub = ann) { set $early $oidc_claim_name; }
      echo -n "$early|$oidc_claim_groups|$oidc_claim_phone|$oidc_claim_nothing|$oidc_access_token|$oidc_userinfo|$oidc_id_token"; } }`;
  const { gw, visitor } = await load(t, { more: 'userinfo on;', site });
  const [early, groups, phone, nothing, access, userinfo, id = ''] = (
    await visitor.follow(gw.url)
  ).body.split('|');
  expect({ early, groups, phone, nothing, userinfo }).toEqual({
    early: 'Ann',
    groups: 'a,b',
    phone: '123',
    nothing: '',
    userinfo: '{"sub":"ann","phone":"123"}',
  });
  expect(access).toMatch(/^access-\d+$/);
  expect(id.split('.')).toHaveLength(3);
});

test('user information about somebody else ends the login', async (t) => {
  const { gw, visitor } = await load(t, {
    more: 'userinfo on;',
    prepare: (provider) => {
      provider.userinfo = { sub: 'bob' };
    },
  });
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 403 });
});

test('auth_jwt has the claims of the ID token, without keys and longer than the token', async (t) => {
  const site = `auth_jwt_claim_set $city address city;
    server { auth_jwt off token=$oidc_id_token; location / { auth_oidc idp; echo -n "$city $jwt_claim_sub"; }
      location /other { auth_jwt off token=$arg_t; echo -n "[$jwt_claim_sub]"; } }`;
  const { gw, provider, visitor } = await load(t, { site });
  provider.claims = { ...provider.claims, address: { city: 'Ulm' } };
  // Within the leeway of the login.
  provider.alter = (claims) => ({ ...claims, exp: Math.floor(Date.now() / 1_000) - 5 });
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200, body: 'Ulm ann' });
  const token = provider.sign({ sub: 'ann' });
  expect((await visitor.open(`${gw.url}/other?t=${token}`)).body).toBe('[]');
});

test('upstreams get no cookie of the module, and all others', async (t) => {
  const upstream = await startPeer(t, 'up', (request, response) =>
    response.end(request.headers.cookie ?? 'none'),
  );
  const pass = `proxy_pass http://127.0.0.1:${upstream.port};`;
  const site = `server { location / { auth_oidc idp; ${pass} } location /open { ${pass} } location /echo { ${ECHO} } }`;
  const { gw, visitor } = await load(t, { site });
  await visitor.open(gw.url);
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200, body: 'none' });
  const jar = visitor.cookies(gw.port);
  expect(jar.size).toBe(2);
  const own = [...jar].map(([name, value]) => `${name}=${value}`);
  const [first = '', second = ''] = own;
  const cookie = `a=1; ${first};NGX_OIDC_SESSION_2=x; ${second}; b="2;3"; c`;
  const send = (path: string) => gw.fetch(path, { headers: { ...PAGE, cookie } });
  const rest = 'a=1;NGX_OIDC_SESSION_2=x; b="2;3"; c';
  expect((await send('/')).body).toBe(rest);
  expect((await send('/open')).body).toBe(rest);
  expect((await send('/echo')).body).toBe(`[${rest}] [1] []`);
});

test('a cookie of nobody is no session', async (t) => {
  const { gw } = await load(t);
  for (const value of ['', 'x', randomBytes(32).toString('base64url'), 'x'.repeat(3_000), '../../etc', '"']) {
    const headers = { ...PAGE, cookie: `NGX_OIDC_SESSION=${value}` };
    expect((await gw.fetch('/', { headers })).status).toBe(302);
  }
});

test('of several cookies with the name, the one with a session counts', async (t) => {
  const { gw, visitor } = await load(t);
  await visitor.follow(gw.url);
  const own = visitor.cookies(gw.port).get('NGX_OIDC_SESSION') ?? '';
  const headers = { ...PAGE, cookie: `NGX_OIDC_SESSION=x; NGX_OIDC_SESSION=${own}` };
  expect((await gw.fetch('/', { headers })).status).toBe(200);
});

test('a login gives a new id, and ends the session before it', async (t) => {
  const { gw, visitor } = await load(t);
  await visitor.follow(gw.url);
  const before = visitor.cookies(gw.port).get('NGX_OIDC_SESSION') ?? '';
  const begun = await new Visitor().open(gw.url);
  expect(begun.status).toBe(302);
  const [name = '', value = ''] = (begun.headers.get('set-cookie') ?? '').split(';', 1)[0]?.split('=') ?? [];
  visitor.cookies(gw.port).set(name, value);
  const atProvider = await visitor.open(begun.headers.get('location') ?? '');
  await visitor.open(atProvider.headers.get('location') ?? '');
  const after = visitor.cookies(gw.port).get('NGX_OIDC_SESSION') ?? '';
  expect(after).not.toBe(before);
  const old = await gw.fetch('/', {
    headers: { ...PAGE, cookie: `NGX_OIDC_SESSION=${before}` },
  });
  expect(old.status).toBe(302);
  expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
});

test('a session ends after its time', async (t) => {
  const { gw, visitor } = await load(t, { more: 'session_timeout 2s;' });
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
  await expect.poll(async () => (await visitor.open(gw.url)).status, { timeout: 5_000 }).toBe(302);
});

test('sessions outlive a reload', async (t) => {
  const { gw, provider, visitor } = await load(t);
  await visitor.follow(gw.url);
  await gw.reload(
    gw.confOf(`${block(provider)} ${SITE} server { listen 127.0.0.1:${gw.port}; server_name other; }`),
  );
  expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
});

test('a full store forgets the session that has not been used for longest', async (t) => {
  const site = `shared_dict_zone zone=small:64k evict; ${SITE}`;
  const { gw, provider, visitor } = await load(t, { more: 'session_store small;', site });
  provider.claims = { ...provider.claims, padding: 'x'.repeat(4_000) };
  await visitor.follow(gw.url);
  const second = new Visitor();
  await second.follow(gw.url);
  for (let n = 0; n < 12; n += 1) {
    await new Visitor().follow(gw.url);
    expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
  }
  expect(await second.open(gw.url)).toMatchObject({ status: 302 });
});

test('logins that fail write nothing into the store', async (t) => {
  const { gw, provider, visitor } = await load(t, {
    more: 'session_store small;',
    site: `shared_dict_zone zone=small:64k evict; ${SITE}`,
  });
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
  const failures = [
    { args: { error: 'access_denied', iss: provider.issuer }, status: 403 },
    { args: { code: 'of-nobody', iss: provider.issuer }, status: 403 },
    { args: { code: 'a', iss: 'https://other.example' }, status: 400 },
  ];
  for (const { args, status } of failures)
    for (let n = 0; n < 200; n += 1) {
      const stranger = new Visitor();
      const begun = await stranger.open(gw.url);
      const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? '';
      const back = new URLSearchParams({ ...args, state });
      expect(await stranger.open(`${gw.url}/oidc_callback?${back.toString()}`)).toMatchObject({ status });
    }
  expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
});

test('a full dictionary that does not say "evict" keeps what it has, and nobody logs in', async (t) => {
  const site = `shared_dict_zone zone=feature_flags:64k; control_flags_zone feature_flags;
    ${SITE.slice(0, -1)} location /api/ { auth_oidc off; control_api; } }`;
  const { gw, provider, visitor } = await load(t, { more: 'session_store feature_flags;', site });
  const setFlag = '/api/flag/set?name=kept&enabled=1';
  expect((await gw.fetch(setFlag)).body).toContain('"ok"');
  provider.claims = { ...provider.claims, padding: 'x'.repeat(4_000) };
  expect(await visitor.follow(gw.url)).toMatchObject({ status: 200 });
  const logIn = async (): Promise<number> => (await new Visitor().follow(gw.url)).status;
  await expect.poll(logIn, { interval: 1 }).toBe(503);
  await gw.waitForLog(
    /\[error\] .*nobody can log in at "idp": sessions of "idp:[\w-]{8}": the dictionary is full/,
  );
  expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
  expect((await gw.fetch('/api/flag?name=kept')).body).toContain('"kept"');
});

test('a session of one provider is none of another with the same store and cookie', async (t) => {
  const other = await startProvider(t);
  const site = `shared_dict_zone zone=both:1m; ${block(other, 'session_store both;', 'second')}
    server { location /one { auth_oidc idp; echo -n one; } location /two { auth_oidc second; echo -n two; }
      location /by { auth_oidc $arg_p; echo -n "by $oidc_claim_sub"; } }`;
  const { gw, visitor } = await load(t, { more: 'session_store both;', site });
  expect(await visitor.follow(`${gw.url}/one`)).toMatchObject({ body: 'one' });
  expect(await visitor.open(`${gw.url}/two`)).toMatchObject({ status: 302 });
  const page = await visitor.follow(`${gw.url}/two`);
  expect(page).toMatchObject({ body: 'two' });
  expect(page.urls[1]).toContain(other.issuer);
  expect(await visitor.open(`${gw.url}/by?p=second`)).toMatchObject({ body: 'by ann' });
  expect(await visitor.open(`${gw.url}/by?p=off`)).toMatchObject({ body: 'by ' });
  expect(await visitor.open(`${gw.url}/by?p=third`)).toMatchObject({ status: 500 });
  await gw.waitForLog(/\[error\] .*"auth_oidc" names an unknown provider: "third"/);
});

const satisfying = [
  {
    it: 'the password of auth_basic',
    headers: { authorization: `Basic ${Buffer.from('u:p').toString('base64')}` },
    status: 200,
  },
  { it: 'nothing: a browser is sent to the login', headers: {}, status: 302 },
  { it: 'nothing: a program gets both challenges', headers: { accept: '*/*' }, status: 401 },
];

for (const { it, headers, status } of satisfying)
  test(`"satisfy any" with ${it}`, async (t) => {
    const site = `server { location / { satisfy any; auth_oidc idp; auth_basic a; auth_basic_user_file users; echo in; } }`;
    const provider = await startProvider(t);
    const gw = await startGateway(t, `${block(provider)} ${site}`, { files: { users: 'u:{PLAIN}p\n' } });
    const response = await gw.fetch('/', { headers: { ...PAGE, ...headers } });
    expect(response.status).toBe(status);
    if (status === 401)
      expect(response.headers.get('www-authenticate')).toMatch(/Cookie realm="idp".*, Basic realm="a"/);
  });

test('metrics count checks and sessions', async (t) => {
  const provider = await startProvider(t);
  const gw = await startGateway(
    t,
    `${block(provider)} ${SITE.slice(0, -1)} location = /metrics { control_api metrics; } }`,
  );
  const visitors = [new Visitor(), new Visitor()];
  for (const visitor of visitors) await visitor.follow(gw.url);
  const metrics = (await gw.fetch('/metrics')).body;
  expect(metrics).toContain('gw_auth_total{location="/",kind="oidc",result="accepted"} 2');
  expect(metrics).toContain('gw_auth_total{location="/",kind="oidc",result="none"} 2');
  expect(metrics).toContain('gw_oidc_sessions{provider="idp"} 2');
});

test('many clients log in at once', async (t) => {
  const { gw } = await load(t);
  const pages = await Promise.all(Array.from({ length: 80 }, () => new Visitor().follow(gw.url)));
  expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]));
});
