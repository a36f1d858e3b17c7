import { beforeAll, test } from 'vitest';
import type { Expected } from '../../harness/expect-response.ts';
import { oneGateway } from '../../harness/gateway.ts';
import { type ConfiguredDatabase, configured, expectSoon } from './settings.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

const load = oneGateway();

const FIXTURE = `
  create schema api;
  create table items (id int primary key, word text);
  insert into items values (1, 'of public'), (2, 'more');
  create table lines (id int primary key, item int references items);
  create table api.items (id int primary key, word text);
  insert into api.items values (1, 'of api');
  create view seen as select current_user::text as role, current_setting('app.settings.mode', true) as mode,
    current_setting('search_path') as path;
  create function refuse() returns void language plpgsql as $$ begin raise exception 'refused'; end $$;
  create function start() returns text language sql immutable as $$ select 'started' $$;
  grant usage on schema api to anon;
  grant select on items, lines, api.items, seen to anon, web_user;
`;

/** Another secret than the one in the file. */
const OTHER = 'another secret of at least thirty-two bytes';
const user = { role: 'web_user', app: { role: 'web_admin' }, aud: 'others' };
const SEEN = 'GET /api/seen?select=role';

interface Case {
  readonly settings: Readonly<Record<string, string>>;
  readonly request: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** With the values of the file. */
  readonly before: Expected;
  readonly after: Expected;
}

const cases: readonly Case[] = [
  {
    settings: { 'pgrst.db_schemas': 'api, public' },
    request: 'GET /api/items?id=eq.1',
    before: { json: [{ id: 1, word: 'of public' }] },
    after: { json: [{ id: 1, word: 'of api' }] },
  },
  {
    settings: { 'pgrst.db_extra_search_path': 'api' },
    request: 'GET /api/seen?select=path',
    before: { body: /^\[\{"path":"(?!.*api)/ },
    after: { body: /api/ },
  },
  {
    settings: { 'pgrst.db_anon_role': 'web_user' },
    request: SEEN,
    before: { json: [{ role: 'anon' }] },
    after: { json: [{ role: 'web_user' }] },
  },
  {
    settings: { 'pgrst.db_max_rows': '1' },
    request: 'GET /api/items?select=id',
    before: { json: [{ id: 1 }, { id: 2 }] },
    after: { json: [{ id: 1 }] },
  },
  {
    settings: { 'pgrst.db_pre_request': 'public.refuse' },
    request: 'GET /api/items',
    before: { status: 200 },
    after: { status: 400, body: /refused/ },
  },
  {
    settings: { 'pgrst.db_aggregates_enabled': 'false' },
    request: 'GET /api/items?select=count()',
    before: { status: 200 },
    after: { status: 400, body: /PGRST123/ },
  },
  {
    settings: { 'pgrst.db_plan_enabled': 'true' },
    request: 'GET /api/items',
    headers: { accept: 'application/vnd.pgrst.plan' },
    before: { status: 406 },
    after: { status: 200 },
  },
  {
    settings: { 'pgrst.db_tx_end': 'commit-allow-override' },
    request: 'GET /api/items',
    headers: { prefer: 'tx=rollback' },
    before: { headers: { 'preference-applied': null } },
    after: { headers: { 'preference-applied': 'tx=rollback' } },
  },
  {
    settings: { 'pgrst.db_root_spec': 'public.start' },
    request: 'GET /api/',
    before: { body: /openapi/ },
    after: { body: '"started"' },
  },
  {
    settings: { 'pgrst.openapi_mode': 'disabled' },
    request: 'GET /api/',
    before: { status: 200 },
    after: { status: 404 },
  },
  {
    settings: { 'pgrst.openapi_server_proxy_uri': 'https://shop.example/v1' },
    request: 'GET /api/',
    before: { body: /"servers":\[\{"url":"(?!https:)/ },
    after: { body: /"servers":\[\{"url":"https:\/\/shop\.example\/v1"/ },
  },
  {
    settings: { 'pgrst.jwt_secret': OTHER },
    request: SEEN,
    headers: bearer(sign(user, { secret: OTHER })),
    before: { json: [{ role: 'anon' }] },
    after: { json: [{ role: 'web_user' }] },
  },
  {
    settings: {
      'pgrst.jwt_secret': Buffer.from(OTHER).toString('base64'),
      'pgrst.jwt_secret_is_base64': 'true',
    },
    request: SEEN,
    headers: bearer(sign(user, { secret: OTHER })),
    before: { json: [{ role: 'anon' }] },
    after: { json: [{ role: 'web_user' }] },
  },
  {
    settings: { 'pgrst.jwt_aud': 'us' },
    request: SEEN,
    headers: bearer(sign(user)),
    before: { json: [{ role: 'web_user' }] },
    after: { json: [{ role: 'anon' }] },
  },
  {
    settings: { 'pgrst.jwt_role_claim_key': '.missing[0]' },
    request: SEEN,
    headers: bearer(sign(user)),
    before: { json: [{ role: 'web_user' }] },
    after: { json: [{ role: 'anon' }] },
  },
  {
    settings: { 'pgrst.server_cors_allowed_origins': 'https://a.example, https://b.example' },
    request: 'GET /api/items',
    headers: { origin: 'https://b.example' },
    before: { headers: { 'access-control-allow-origin': '*' } },
    after: { headers: { 'access-control-allow-origin': 'https://b.example' } },
  },
  {
    settings: { 'pgrst.server_timing_enabled': 'on' },
    request: 'GET /api/items',
    before: { headers: { 'server-timing': null } },
    after: { headers: { 'server-timing': /jwt/ } },
  },
  {
    settings: { 'pgrst.client_error_verbosity': 'minimal' },
    request: 'GET /api/itemz',
    before: { status: 404, body: /"hint"/ },
    after: { status: 404, body: /^(?!.*"hint")/ },
  },
  {
    settings: { 'pgrst.server_trace_header': 'X-Trace' },
    request: 'GET /api/items',
    headers: { 'x-trace': 'abc' },
    before: { headers: { 'x-trace': null } },
    after: { headers: { 'x-trace': 'abc' } },
  },
  {
    settings: { 'pgrst.url_use_legacy_target_names': 'false' },
    request: 'GET /api/items?select=id,l:lines(id)&lines.id=eq.1',
    before: { status: 200 },
    after: { status: 400 },
  },
  {
    settings: { 'app.settings.mode': 'of the role' },
    request: 'GET /api/seen?select=mode',
    before: { json: [{ mode: 'of the file' }] },
    after: { json: [{ mode: 'of the role' }] },
  },
  {
    settings: { 'pgrst.app.settings.mode': 'of PostgREST', 'app.settings.mode': 'of the role' },
    request: 'GET /api/seen?select=mode',
    before: { json: [{ mode: 'of the file' }] },
    after: { json: [{ mode: 'of PostgREST' }] },
  },
];

let db: ConfiguredDatabase;
beforeAll(async () => {
  db = await configured(FIXTURE);
});

const conf = (): string => `
  error_log error.log info;
  server {
    location /api/ {
      dbrest_pass ${db.dsn};
      dbrest_config on;
      dbrest_anon_role anon;
      dbrest_jwt_secret "${SECRET}";
      dbrest_setting mode "of the file";
    }
  }`;

const without = (settings: Case['settings']): Record<string, null> =>
  Object.fromEntries(Object.keys(settings).map((name) => [name, null]));

for (const { settings, request, headers = {}, before, after } of cases) {
  test(`${Object.keys(settings).join(' and ')} replaces the value of the file until it is reset`, async (t) => {
    const gw = await load(t, conf());
    const expectThat = (expected: Expected): Promise<void> => expectSoon(gw, request, { expected, headers });
    await expectThat(before);
    await db.set(settings);
    await db.announce();
    try {
      await expectThat(after);
    } finally {
      await db.set(without(settings));
      await db.announce();
    }
    await expectThat(before);
  });
}
