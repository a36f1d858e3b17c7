import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { Provider } from 'oidc-provider';
import { expect, test, vi } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { freePort } from '../../harness/ports.ts';
import { CLIENT_ID, CLIENT_SECRET } from './provider.ts';
import { block } from './site.ts';
import { Visitor } from './visitor.ts';

const load = oneGateway({ workers: 2 });

// The provider says that its pages and keys are those of a test.
for (const level of ['info', 'warn'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);

/** Loads a site whose clients log in at node-oidc-provider, a certified provider. */
async function loadSite(
  t: Owner,
  { more = '', pages }: { readonly more?: string; readonly pages: string },
): Promise<{ readonly gw: Gateway; readonly issuer: string }> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  let respond: RequestListener = () => undefined;
  const server = createServer((request, response) => respond(request, response)).listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  const gw = await load(t, (_dir, own) => {
    respond = new Provider(issuer, configurationFor(`http://127.0.0.1:${own}`)).callback();
    return `${block({ issuer }, more)} server { ${pages} }`;
  });
  return { gw, issuer };
}

type Sent = Required<Pick<RequestInit, 'method' | 'headers' | 'body'>>;

function configurationFor(url: string): Readonly<Record<string, unknown>> {
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${url}/oidc_callback`],
        post_logout_redirect_uris: [`${url}/bye`],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        backchannel_logout_uri: `${url}/back`,
        backchannel_logout_session_required: true,
      },
    ],
    claims: { openid: ['sub'], email: ['email'] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.net` }),
    }),
    ttl: { AccessToken: 2, IdToken: 60, Session: 600, Grant: 600, Interaction: 600, RefreshToken: 600 },
    features: { backchannelLogout: { enabled: true } },
    // Its own refuses addresses of this machine.
    fetch: (to: string, { method, headers, body }: Sent) => fetch(to, { method, headers, body }),
    cookies: { keys: ['a key for cookies'] },
  };
}

test('a client logs in at a certified provider, is refreshed, and logs out there and here', async (t) => {
  const more = `scope openid email offline_access; extra_auth_args prompt=consent; userinfo on;
    logout_uri /logout; post_logout_uri /bye; logout_token_hint on; backchannel_logout_uri /back;`;
  const pages = `location / { auth_oidc idp; echo -n "$oidc_claim_sub $oidc_claim_email $oidc_access_token"; }
    location /bye { echo -n bye; }`;
  const { gw } = await loadSite(t, { more, pages });
  const visitor = new Visitor();
  const asked = await visitor.follow(`${gw.url}/page`);
  const consenting = await visitor.submit(asked, { login: 'ann', password: 'secret' });
  const page = await visitor.submit(consenting);
  expect(page.body).toMatch(/^ann ann@example.net [\w-]{43}$/);
  expect(page.urls.at(-1)).toBe(`${gw.url}/page`);

  const renewed = (): Promise<string> => visitor.open(gw.url).then(({ body }) => body);
  await expect.poll(renewed, { timeout: 10_000 }).not.toBe(page.body);
  expect(await renewed()).toMatch(/^ann ann@example.net [\w-]{43}$/);

  // Another browser of hers has another session at the provider, which stays.
  const other = new Visitor();
  const again = await other.submit(await other.follow(gw.url), { login: 'ann', password: 'secret' });
  expect(await other.submit(again)).toMatchObject({ status: 200 });

  const stolen = new Visitor();
  for (const [name, value] of visitor.cookies(gw.port)) stolen.cookies(gw.port).set(name, value);
  const left = await visitor.submit(await visitor.follow(`${gw.url}/logout`), { logout: 'yes' });
  expect(left).toMatchObject({ status: 200, body: 'bye' });
  expect(await visitor.open(gw.url)).toMatchObject({ status: 302 });
  expect(await stolen.open(gw.url)).toMatchObject({ status: 302 });
  expect(await other.open(gw.url)).toMatchObject({ status: 200 });
});

test('a certified provider ends the sessions of a client that leaves it elsewhere', async (t) => {
  const pages = 'location / { auth_oidc idp; echo -n $oidc_claim_sub; }';
  const { gw, issuer } = await loadSite(t, { more: 'backchannel_logout_uri /back;', pages });
  const visitor = new Visitor();
  const consenting = await visitor.submit(await visitor.follow(gw.url), { login: 'ann', password: 'secret' });
  expect(await visitor.submit(consenting)).toMatchObject({ body: 'ann' });
  expect(await visitor.open(gw.url)).toMatchObject({ status: 200 });
  const leaving = await visitor.follow(`${issuer}/session/end`);
  expect(await visitor.submit(leaving, { logout: 'yes' })).toMatchObject({ status: 200 });
  expect(await visitor.open(gw.url)).toMatchObject({ status: 302 });
});
