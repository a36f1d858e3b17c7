import { expect, test } from 'vitest';
import type { Gateway } from '../../harness/gateway.ts';
import { redis } from '../../harness/redis.ts';
import { startPair } from '../../cluster/gateways.ts';
import { freshNamespace } from '../../cluster/stores.ts';
import { startProvider } from './provider.ts';
import { block } from './site.ts';
import { Visitor } from './visitor.ts';

/** Has a browser send the cookies of one gateway to another one, as if both had one name. */
function move(visitor: Visitor, from: Gateway, to: Gateway): void {
  for (const [name, value] of visitor.cookies(from.port)) visitor.cookies(to.port).set(name, value);
}

test('in a cluster, any gateway finishes a login, knows a session, and learns of its end', async (t) => {
  const { url } = await redis();
  const provider = await startProvider(t);
  const more =
    'session_store s; redirect_uri https://app.example/oidc_callback; logout_uri /logout; backchannel_logout_uri /back;';
  const [a, b] = await startPair(t, {
    backend: url,
    more: `namespace ${freshNamespace()};`,
    http: `shared_dict_zone zone=s:1m cluster=main; ${block(provider, more)}`,
    server: 'location / { auth_oidc idp; echo -n $oidc_claim_sub; }',
  });
  const visitor = new Visitor();
  const begun = await visitor.open(a.url);
  const atProvider = await visitor.open(begun.headers.get('location') ?? '');
  move(visitor, a, b);
  const { search } = new URL(atProvider.headers.get('location') ?? '');
  expect(await visitor.open(`${b.url}/oidc_callback${search}`)).toMatchObject({ status: 302 });
  expect(await visitor.open(b.url)).toMatchObject({ status: 200, body: 'ann' });
  move(visitor, b, a);
  const statusAt = (gw: Gateway) => async (): Promise<number> => (await visitor.open(gw.url)).status;
  await expect.poll(statusAt(a)).toBe(200);
  const body = new URLSearchParams({ logout_token: provider.logoutToken({ sub: 'ann' }) }).toString();
  expect(await a.fetch('/back', { method: 'POST', body })).toMatchObject({ status: 200 });
  expect(await statusAt(a)()).toBe(302);
  await expect.poll(statusAt(b)).toBe(302);
});
