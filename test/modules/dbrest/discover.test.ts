import { beforeAll, expect, test } from 'vitest';
import { type KeySource, readKeySource } from '../../../src/tokens/index.ts';
import type { DbrestConfig } from '../../../src/modules/dbrest/directives/index.ts';
import { oneGateway } from '../../harness/gateway.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { sharedDirect } from './direct.ts';
import { keys } from './token-location.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

const load = oneGateway();

const FIXTURE = `
  create table items (id int primary key);
  create table notes (id int primary key);
  create function refuse() returns void language plpgsql as
    $$ begin if current_setting('request.path') like '%/' then raise sqlstate 'PT403' using message = 'No'; end if; end $$;
  create function greet() returns void language sql as
    $$ select set_config('response.headers', '[{"X-Greeting": "hi"}]', true) $$;
  grant select on items to anon;
  grant select on items, notes to web_user;
`;

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(FIXTURE);
});

const OPENAPI = 'application/openapi+json; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const compiled = sharedDirect();

const types: [accept: string | undefined, status: number, type: string][] = [
  [undefined, 200, OPENAPI],
  ['*/*', 200, OPENAPI],
  ['application/openapi+json', 200, OPENAPI],
  ['application/json', 200, JSON_TYPE],
  ['application/json, application/openapi+json;q=0.5', 200, JSON_TYPE],
  ['text/html,application/xhtml+xml,*/*;q=0.8', 200, OPENAPI],
  ['text/csv', 406, JSON_TYPE],
  ['application/vnd.pgrst.object+json', 406, JSON_TYPE],
];
test.each(types)('Accept: %s gives %i %s', async (accept, status, type) => {
  const api = await compiled(db.dsn);
  const response = await api.get('/api/', accept === undefined ? {} : { accept });
  expect([response.status, response.headers['content-type']]).toEqual([status, type]);
});

const refusals: [request: string, config: Partial<DbrestConfig>, status: number, code: string][] = [
  ['GET /api/', { openapi: 'off' }, 404, 'PGRST126'],
  ['POST /api/', {}, 405, 'PGRST117'],
  ['GET /api/', { anonRole: undefined as never, jwtKeys: keys(SECRET) }, 401, 'PGRST302'],
  ['GET /api/', { anonRole: 'nobody' }, 401, '22023'],
  ['GET /api/', { preRequest: ['refuse'] }, 403, 'PT403'],
];
test.each(refusals)('%s with %j gives %i %s', async (...[request, config, status, code]) => {
  const api = await compiled(db.dsn, config);
  const { x, done } = api.start(request);
  await done;
  expect([x.sent?.status, JSON.parse(x.sent?.body ?? '')]).toMatchObject([status, { code }]);
});

test('response settings of the database apply to the description as well', async () => {
  const api = await compiled(db.dsn, { preRequest: ['greet'] });
  expect((await api.get('/api/')).headers['x-greeting']).toBe('hi');
});

const securities: [config: Partial<DbrestConfig>, security: unknown][] = [
  [{}, undefined],
  [{ jwtKeys: readKeySource(SECRET) as KeySource }, [{}, { JWT: [] }]],
];
test.each(securities)('the security of %j is %j', async (config, security) => {
  const api = await compiled(db.dsn, config);
  const document = JSON.parse((await api.get('/api/')).body) as {
    security?: unknown;
    components: { securitySchemes?: unknown };
  };
  expect(document.security).toEqual(security);
  expect(document.components.securitySchemes).toEqual(
    security && { JWT: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
  );
});

const servers: [path: string, resolved: string][] = [
  ['/rest/v1/', '/rest/v1'],
  ['/rest/v1/?x=1', '/rest/v1'],
  ['/open', '/open'],
  ['/open/', '/open'],
  ['/', '/'],
];
test('the server of the description is its location, at any address', async (t) => {
  const http = `dbrest_anon_role anon;
    server {
      location /rest/v1/ { dbrest_pass ${db.dsn}; }
      location /open { dbrest_pass ${db.dsn}; }
      location / { dbrest_pass ${db.dsn}; }
    }`;
  const gw = await load(t, http);
  for (const [path, resolved] of servers) {
    const { body } = await gw.expect(`GET ${path}`, { status: 200, headers: { 'content-type': OPENAPI } });
    const {
      servers: [server],
    } = JSON.parse(body) as { servers: [{ url: string }] };
    expect(new URL(server.url, `https://front.example/x${path}`).pathname).toBe(`/x${resolved}`);
    const head = await gw.expect(`HEAD ${path}`, { status: 200, body: '' });
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(body)));
  }
});

test('each role gets its own description, and a change of the schema a new one', async (t) => {
  const http = `dbrest_anon_role anon; dbrest_jwt_secret "${SECRET}"; dbrest_rpc off; server { location /api/ { dbrest_pass ${db.dsn}; } }`;
  const gw = await load(t, http);
  const paths = async (headers: Record<string, string> = {}): Promise<string[]> => {
    const { body } = await gw.expect('GET /api/', { status: 200 }, { headers });
    return Object.keys((JSON.parse(body) as { paths: object }).paths);
  };
  const user = bearer(sign({ role: 'web_user' }));
  expect(await paths()).toEqual(['/', '/items']);
  expect(await paths(user)).toEqual(['/', '/items', '/notes']);
  expect(await paths()).toEqual(['/', '/items']);
  await db.query('create table later (id int); grant select on later to anon;');
  await gw.expect('GET /api/later', { status: 200 });
  expect(await paths()).toEqual(['/', '/items', '/later']);
});
