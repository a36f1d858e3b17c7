import { beforeAll, expect, test } from 'vitest';
import { oneGateway, startGateway } from '../../harness/gateway.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';
import { jwks, startIssuer } from '../auth_jwt/issuer.ts';
import { WHOAMI } from './token-location.ts';

const load = oneGateway();
const NEW = 'a new secret of at least thirty-two bytes';

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(WHOAMI);
});

const conf = (url: string): string =>
  `server { location / { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_jwt_secret ${url}; dbrest_jwt_invalid reject; } }`;
const user = (kid: string, secret = SECRET) => ({
  headers: bearer(sign({ role: 'web_user' }, { secret, header: { kid } })),
});

test('keys at a URL are fetched once for all workers, and again for a new key', async (t) => {
  const issuer = await startIssuer(t, jwks({ a: SECRET }));
  const gw = await startGateway(t, conf(issuer.url), { workers: 2, fresh: true });
  for (let n = 0; n < 10; n += 1) {
    const { body } = await gw.expect('GET /whoami', { status: 200 }, user('a'));
    expect(JSON.parse(body)).toMatchObject([{ role: 'web_user' }]);
  }
  expect(issuer.asked).toEqual(['GET /jwks']);
  issuer.respond = (_request, response) => response.end(jwks({ a: SECRET, b: NEW }));
  await gw.expect('GET /whoami', { status: 200 }, user('b', NEW));
  await gw.expect('GET /whoami', { status: 401 }, user('c', NEW));
  expect(issuer.asked).toHaveLength(2);
});

test('without keys, requests with tokens get 500, and others are anonymous', async (t) => {
  const issuer = await startIssuer(t, '');
  issuer.respond = (_request, response) => response.writeHead(503).end();
  const gw = await load(t, conf(issuer.url));
  const { body } = await gw.expect(
    'GET /whoami',
    { status: 500, headers: { 'retry-after': '5' } },
    user('a'),
  );
  expect(JSON.parse(body)).toMatchObject({ code: 'PGRST300' });
  await gw.waitForLog(/no keys from ".*\/jwks": status 503/);
  await gw.expect('GET /whoami', { status: 200 });
});
