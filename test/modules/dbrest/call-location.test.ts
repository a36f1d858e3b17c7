import { beforeAll, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres } from '../../harness/postgres.ts';
import { FIXTURE } from './fixture/index.ts';

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  const { dsn } = await postgres(FIXTURE);
  gw = await startGateway(
    file,
    `dbrest_anon_role anon; dbrest_extra_search_path "public, tools";
     server {
       location /rest/v1/ { dbrest_pass ${dsn}; }
       location /tables/ { dbrest_pass ${dsn}; dbrest_rpc off; }
       location /rpc/ { dbrest_pass ${dsn}; }
       location /calls/ { dbrest_pass ${dsn}; dbrest_rpc on; }
       location = /sum { dbrest_pass ${dsn}; dbrest_rpc on; }
       location = /add_them { dbrest_pass ${dsn}; dbrest_rpc on; }
       location /few/ { dbrest_pass ${dsn}; dbrest_rpc on; dbrest_max_rows 2; dbrest_aggregates off; }
       location /asked/ { dbrest_pass ${dsn}; dbrest_rpc on; dbrest_pre_request tools.greet; }
     }`,
  );
});

const responses: readonly [line: string, status: number, body: string | RegExp][] = [
  ['GET /rest/v1/rpc/add_them?a=1&b=2', 200, '3'],
  ['GET /rest/v1/departments?select=name&id=eq.1', 200, '[{"name":"Sales"}]'],
  ['GET /rest/v1/add_them', 404, /PGRST205/],
  ['GET /rest/v1/rpc/departments', 404, /PGRST202/],
  ['GET /rest/v1/rpc/add_them/more', 404, /PGRST125/],
  ['GET /rpc/add_them?a=1&b=2', 200, '3'],
  ['GET /rpc/departments', 404, /PGRST202/],
  ['GET /calls/add_them?a=1&b=2', 200, '3'],
  ['GET /tables/departments?select=name&id=eq.1', 200, '[{"name":"Sales"}]'],
  ['GET /tables/rpc/add_them?a=1&b=2', 404, /PGRST125/],
  ['GET /add_them?a=1&b=2', 200, '3'],
  ['GET /sum?a=1', 404, /PGRST202/],
  ['GET /few/three_numbers', 200, /^\[1, 2\]$/],
  ['GET /few/add_them?a=1&b=2', 200, '3'],
  ['GET /few/three_numbers?select=three_numbers.sum()', 400, /PGRST123/],
];
test.each(responses)('%s → %i %s', async (line, status, body) => {
  await gw.expect(line, { status, body });
});

test('dbrest_pre_request sets headers of the response beside the function', async () => {
  await gw.expect('GET /asked/add_them?a=1&b=2', {
    status: 200,
    body: '3',
    headers: { 'x-role': 'anon', 'cache-control': 'max-age=60' },
  });
  const own = '/asked/answers_with?headers=[{"X-Own":"1"}]';
  // GET may call a volatile function that writes nothing.
  await gw.expect(`GET ${encodeURI(own)}`, { status: 200, headers: { 'x-own': '1', 'x-role': null } });
});
