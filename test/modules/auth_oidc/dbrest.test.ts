import { expect, test } from 'vitest';
import { postgres } from '../../harness/postgres.ts';
import { WHOAMI } from '../dbrest/token-location.ts';
import { siteLoader } from './site.ts';

const load = siteLoader();

test('dbrest behind a login takes the role of the ID token', async (t) => {
  const { dsn } = await postgres(WHOAMI);
  const site = `server { location / { auth_oidc idp; auth_jwt off token=$oidc_id_token; dbrest_pass ${dsn}; dbrest_anon_role anon; } }`;
  const { gw, visitor } = await load(t, {
    site,
    prepare: (provider) => {
      provider.claims = { ...provider.claims, role: 'web_user' };
    },
  });
  await visitor.follow(gw.url);
  const { status, body } = await visitor.open(`${gw.url}/whoami`, {
    headers: { accept: 'application/json' },
  });
  expect({ status, body }).toEqual({ status: 200, body: expect.stringContaining('"web_user"') as string });
  await gw.expect('GET /whoami', { status: 401 });
});
