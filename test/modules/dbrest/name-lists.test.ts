import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';

const FIXTURE = `
  create schema "My, schema";
  create schema "with ""quotes""";
  create schema api;
  create view "My, schema".path as select 'mine' as name, current_setting('search_path') as path;
  create view "with ""quotes""".path as select 'quoted' as name, current_setting('search_path') as path;
  create view api.path as select 'api' as name, current_setting('search_path') as path;
  create function public.helper() returns text language sql as $$ select 'found' $$;
  create function api.asks_helper() returns text stable language plpgsql as $$ begin return helper(); end $$;
  grant usage on schema api, "My, schema", "with ""quotes""" to anon;
  grant select on api.path, "My, schema".path, "with ""quotes""".path to anon;
`;

const SCHEMAS = `dbrest_schemas 'api, "My, schema"' '"with ""quotes""" , api,';`;
const locations = {
  usual: SCHEMAS,
  none: `${SCHEMAS} dbrest_extra_search_path "";`,
  several: `${SCHEMAS} dbrest_extra_search_path 'api, "My, schema", public';`,
} as const;

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  const written = Object.entries(locations).map(
    ([name, more]) => `location /${name}/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; ${more} }`,
  );
  gw = await startGateway(file, `server { ${written.join('\n')} }`);
});

const cases: [location: keyof typeof locations, profile: string, name: string, path: string][] = [
  ['usual', 'api', 'api', '"api", "public"'],
  ['usual', 'My, schema', 'mine', '"My, schema", "public"'],
  ['usual', 'with "quotes"', 'quoted', '"with ""quotes""", "public"'],
  ['none', 'api', 'api', '"api"'],
  ['none', 'My, schema', 'mine', '"My, schema"'],
  ['several', 'api', 'api', '"api", "My, schema", "public"'],
];
for (const [location, profile, name, path] of cases) {
  test(`the schema ${profile} of the location ${location} is served with the search path ${path}`, async () => {
    const { status, body } = await gw.fetch(`/${location}/path`, { headers: { 'accept-profile': profile } });
    expect([status, JSON.parse(body)]).toEqual([200, [{ name, path }]]);
  });
}

test('without an extra search path a function finds only the served schema', async () => {
  expect((await gw.fetch('/usual/rpc/asks_helper')).body).toBe('"found"');
  const { status, body } = await gw.fetch('/none/rpc/asks_helper');
  expect([status, body]).toEqual([404, expect.stringContaining('"42883"')]);
});
