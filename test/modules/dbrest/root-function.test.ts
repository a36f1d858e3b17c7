import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import { postgres } from '../../harness/postgres.ts';

const FIXTURE = `
  create schema other;
  create function root() returns json language sql stable as
    $$ select json_build_object('path', current_setting('request.path'), 'role', current_user) $$;
  create function other.root() returns json language sql stable as $$ select '{"of": "other"}'::json $$;
  create function greet(name text default 'you') returns text language sql immutable as $$ select 'hi ' || name $$;
  create function writes() returns int language plpgsql as $$ begin create table t (); return 1; end $$;
  create table items (id int);
  grant usage on schema other to anon;
  grant select on items to anon;
`;

const load = oneGateway();
let dsn: string;
beforeAll(async () => {
  ({ dsn } = await postgres(FIXTURE));
});

const start = (): Promise<Gateway> =>
  load(
    { onTestFinished },
    `dbrest_schemas "public, other"; dbrest_anon_role anon; server {
      location /plain/ { dbrest_pass "${dsn}"; dbrest_openapi_server https://api.example/v1/; }
      location /own/ { dbrest_pass "${dsn}"; dbrest_root root; dbrest_openapi off; }
      location /other/ { dbrest_pass "${dsn}"; dbrest_root other.root; }
      location /greet/ { dbrest_pass "${dsn}"; dbrest_root greet; }
      location /none/ { dbrest_pass "${dsn}"; dbrest_root none; }
      location /writes/ { dbrest_pass "${dsn}"; dbrest_root writes; }
      location /traced/ { dbrest_pass "${dsn}"; dbrest_trace_header X-Request-ID; }
    }`,
  );

const OPENAPI = 'application/openapi+json; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const ROOT = { path: '/', role: 'anon' };
const roots: [request: string, expected: Parameters<Gateway['expect']>[1], accept?: string][] = [
  ['GET /own/', { status: 200, json: ROOT, headers: { 'content-type': JSON_TYPE } }],
  [
    'GET /own/',
    { status: 200, json: ROOT, headers: { 'content-type': OPENAPI } },
    'application/openapi+json',
  ],
  ['HEAD /own/', { status: 200, body: '' }],
  ['POST /own/', { status: 404 }],
  ['OPTIONS /own/', { status: 200, headers: { allow: 'OPTIONS,GET,HEAD' } }],
  ['GET /own/items', { status: 200, json: [] }],
  ['GET /other/', { status: 200, json: { of: 'other' } }],
  ['GET /greet/?name=Ann', { status: 200, json: 'hi Ann' }],
  ['GET /greet/', { status: 200, body: 'hi you' }, 'text/plain'],
  ['GET /none/', { status: 404, headers: { 'proxy-status': 'gw; error=PGRST202' } }],
  ['GET /writes/', { status: 405 }],
];
describe('dbrest_root', () => {
  test.each(roots)('%s gives what the function returns: %j %s', async (...[request, expected, accept]) => {
    const gw = await start();
    await gw.expect(request, expected, accept === undefined ? {} : { headers: { accept } });
  });
});

test('dbrest_openapi_server is the URL in the description', async () => {
  const { body } = await (await start()).fetch('/plain/');
  expect((JSON.parse(body) as { servers: unknown }).servers).toEqual([{ url: 'https://api.example/v1' }]);
});

const traced: [request: string, status: number][] = [
  ['GET /traced/items', 200],
  ['GET /traced/none', 404],
  ['OPTIONS /traced/items', 200],
  ['BREW /traced/items', 405],
];
test.each(traced)('dbrest_trace_header goes from %s into its response (%i)', async (request, status) => {
  const gw = await start();
  const init = { headers: { 'x-request-id': 'a b;"c"' } };
  await gw.expect(request, { status, headers: { 'x-request-id': 'a b;"c"' } }, init);
  await gw.expect(request, { status, headers: { 'x-request-id': null } });
});
