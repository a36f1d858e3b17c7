import { expect, test } from 'vitest';
import { Certificates } from '../../harness/certificates.ts';
import { startGateway } from '../../harness/gateway.ts';
import { callOn, openHttp2 } from '../../harness/http2-client.ts';
import { freePort } from '../../harness/ports.ts';
import { startProvider } from './provider.ts';
import { block } from './site.ts';
import { PAGE, Visitor } from './visitor.ts';

test('over HTTP/2 with TLS, a browser comes back to https, and cookies are secure', async (t) => {
  const certificates = new Certificates();
  certificates.authority('site');
  const provider = await startProvider(t);
  const port = await freePort();
  const files = { 'site.crt': certificates.read('site.crt'), 'site.key': certificates.read('site.key') };
  await startGateway(
    t,
    `${block(provider, 'cookie_name __Host-id;')}
     server { listen 127.0.0.1:${port} ssl; http2 on; ssl_certificate site.crt; ssl_certificate_key site.key;
       location / { auth_oidc idp; echo -n "$oidc_claim_sub $server_protocol"; } }`,
    { files, port },
  );
  const session = openHttp2(port, { rejectUnauthorized: false });
  t.onTestFinished(() => session.destroy());
  const host = `app.example:${port}`;
  const open = (path: string, cookie?: string | string[]) =>
    callOn(session, path, { headers: { ...PAGE, host, ...(cookie !== undefined && { cookie }) } });
  const begun = await open('/a');
  const [login = ''] = begun.headers.getSetCookie();
  expect(login).toMatch(/^__Host-id_login_\w+=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=600$/);
  const to = new URL(begun.headers.get('location') ?? '');
  expect(to.searchParams.get('redirect_uri')).toBe(`https://${host}/oidc_callback`);
  const atProvider = await new Visitor().open(to.href);
  const { search } = new URL(atProvider.headers.get('location') ?? '');
  const back = await open(`/oidc_callback${search}`, login.split(';')[0]);
  expect(back.headers.get('location')).toBe('/a');
  const cookie = back.headers.getSetCookie().find((line) => line.startsWith('__Host-id=')) ?? '';
  expect(cookie).toMatch(/^__Host-id=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
  // Browsers send each cookie in a field of its own (RFC 9113, 8.2.3).
  expect(await open('/a', ['x=1', cookie.split(';')[0] ?? '', 'y=2'])).toMatchObject({
    status: 200,
    body: 'ann HTTP/2.0',
  });
});
