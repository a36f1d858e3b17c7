import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { configured, expectSoon } from './settings.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

const load = oneGateway({ workers: 2 });

const FIXTURE = `
  create schema api;
  create function api.start() returns text language sql immutable as $$ select 'started' $$;
  create view seen as select current_user::text as role, current_setting('app.settings.mode', true) as mode;
  grant usage on schema api to anon, web_user;
  grant select on seen to anon, web_user;
`;

/** A text that no line of a log contains. */
const HUSH = 'hush-hush';

/** Each setting is ignored, with this line, and the value of the file holds. */
const cases: readonly { readonly name: string; readonly value: string; readonly line: RegExp }[] = [
  { name: 'pgrst.db_schemas', value: ' , ', line: /\[warn\].* is ignored: no name/ },
  { name: 'pgrst.db_schemas', value: '', line: /\[warn\].* is ignored: no name/ },
  { name: 'pgrst.db_anon_role', value: 'none', line: /\[warn\].* is ignored: invalid role/ },
  { name: 'pgrst.db_anon_role', value: '', line: /\[warn\].* is ignored: invalid role/ },
  { name: 'pgrst.db_max_rows', value: '0', line: /\[warn\].* is ignored: value must be between 1 and/ },
  { name: 'pgrst.db_max_rows', value: '-1', line: /\[warn\].* is ignored: invalid number/ },
  { name: 'pgrst.db_pre_request', value: 'a.b.c', line: /\[warn\].* is ignored: invalid function/ },
  { name: 'pgrst.db_tx_end', value: 'sometimes', line: /\[warn\].* is ignored: invalid value/ },
  { name: 'pgrst.db_plan_enabled', value: 'perhaps', line: /\[warn\].* is ignored: expected true or false/ },
  { name: 'pgrst.db_root_spec', value: 'a"b', line: /\[warn\].* is ignored: invalid function/ },
  { name: 'pgrst.openapi_mode', value: 'security', line: /\[warn\].* is ignored: invalid value/ },
  { name: 'pgrst.openapi_server_proxy_uri', value: 'ftp://a', line: /\[warn\].* is ignored: invalid URL/ },
  { name: 'pgrst.server_trace_header', value: 'Set-Cookie', line: /\[warn\].* is ignored: invalid header/ },
  { name: 'pgrst.server_trace_header', value: 'X: a\r\nY', line: /\[warn\].* is ignored: invalid header/ },
  {
    name: 'pgrst.server_cors_allowed_origins',
    value: 'https://a/path',
    line: /\[warn\].* is ignored: invalid origin/,
  },
  { name: 'pgrst.jwt_role_claim_key', value: '.a[', line: /\[warn\].* is ignored: invalid path/ },
  { name: 'pgrst.jwt_aud', value: '', line: /\[warn\].* is ignored: expected/ },
  { name: 'pgrst.jwt_secret', value: `@/etc/${HUSH}`, line: /\[warn\].* is ignored: takes no "@file"/ },
  { name: 'pgrst.jwt_secret', value: `{"keys":"${HUSH}`, line: /\[warn\].* is ignored: .*malformed JSON/ },
  {
    name: 'pgrst.jwt_secret',
    value: `{"kty":"EC","crv":"P-256","x":"${HUSH}","y":"a"}`,
    line: /\[warn\].* is ignored: a key cannot be loaded/,
  },
  {
    name: 'pgrst.jwt_secret',
    value: `-----BEGIN PUBLIC KEY-----${HUSH}`,
    line: /\[warn\].* is ignored: .*PEM/,
  },
  { name: 'pgrst.client_error_verbosity', value: 'quiet', line: /\[warn\].* is ignored: invalid value/ },
  { name: 'pgrst.app.settings."ä"', value: HUSH, line: /\[warn\].* is ignored: invalid name/ },
  {
    name: 'pgrst.db_schema',
    value: 'api',
    line: /\[warn\].*unknown setting, did you mean "pgrst.db_schemas"/,
  },
  { name: 'pgrst.made_up', value: HUSH, line: /\[warn\].* is ignored: unknown setting/ },
  { name: 'pgrst.jwt_secret_is_base64', value: 'true', line: /\[warn\].* says nothing without/ },
  {
    name: 'pgrst.db_uri',
    value: `postgres://a:${HUSH}@b/c`,
    line: /\[notice\].* is ignored: it cannot change/,
  },
  { name: 'pgrst.db_pool', value: '5', line: /\[notice\].* is ignored: it cannot change/ },
  { name: 'pgrst.server_port', value: '80', line: /\[notice\].* is ignored: it cannot change/ },
  { name: 'pgrst.log_level', value: 'info', line: /\[notice\].* is ignored: it cannot change/ },
  { name: 'pgrst.raw_media_types', value: 'a/b', line: /\[notice\].* is ignored: gw has nothing/ },
  { name: 'pgrst.db_pre_config', value: 'api.start', line: /\[notice\].* is ignored: settings come from/ },
];

const conf = (dsn: string): string => `
  error_log error.log info;
  server {
    location /api/ {
      dbrest_pass ${dsn};
      dbrest_config on;
      dbrest_anon_role anon;
      dbrest_jwt_secret "${SECRET}";
      dbrest_setting mode "of the file";
    }
  }`;

const OF_FILE = [{ role: 'web_user', mode: 'of the file' }];

test('settings that are no values are named once, without secrets, and the values of the file hold', async (t) => {
  const db = await configured(FIXTURE);
  const gw = await load(t, conf(db.dsn));
  const headers = bearer(sign({ role: 'web_user' }));
  await expectSoon(gw, 'GET /api/seen', { expected: { json: OF_FILE }, headers });
  for (const { name, value, line } of cases) {
    const from = gw.errorLog().length;
    await db.set({ [name]: value });
    await db.announce();
    await gw.waitForLog(line, from);
    // The same findings are not logged again.
    await db.set({ 'pgrst.db_max_rows': '100' });
    await db.announce();
    await expectSoon(gw, 'GET /api/seen', { expected: { json: OF_FILE }, headers, inARow: 4 });
    const plain = name.replaceAll('"', '');
    expect(gw.errorLog().slice(from).split(`"${plain}" in `), `${name} ${value}`).toHaveLength(2);
    await db.set({ [name]: null, 'pgrst.db_max_rows': null });
  }
  expect(gw.errorLog()).not.toContain(HUSH);
}, 60_000);

test('a function of the root in a schema that is not served any more is not called', async (t) => {
  const db = await configured(FIXTURE);
  const both = conf(db.dsn).replace(
    'dbrest_config on;',
    'dbrest_config on; dbrest_schemas "api, public"; dbrest_root api.start;',
  );
  const gw = await load(t, both);
  await expectSoon(gw, 'GET /api/', { expected: { body: '"started"' } });
  await db.set({ 'pgrst.db_schemas': 'public' });
  await db.announce();
  await expectSoon(gw, 'GET /api/', { expected: { status: 200, body: /openapi/ }, inARow: 16 });
  await gw.waitForLog(/"pgrst.db_schemas" in .* leaves the function of the root in schema "api"/);
});

test('without a secret and an anonymous role, in the file and in the database, the log warns', async (t) => {
  const db = await configured(FIXTURE);
  const open = conf(db.dsn)
    .replace('dbrest_anon_role anon;', '')
    .replace(/dbrest_jwt_secret.*;/, '');
  const gw = await load(t, open);
  await gw.waitForLog(
    /\[warn\].*"pgrst.jwt_secret" in .* every request runs as the role that gw logs in with/,
  );
  await db.set({ 'pgrst.db_anon_role': 'anon' });
  await db.announce();
  await expectSoon(gw, 'GET /api/seen?select=role', { expected: { json: [{ role: 'anon' }] }, inARow: 16 });
});

test('a value of more than 64 KB is ignored', async (t) => {
  const db = await configured(FIXTURE);
  await db.set({ 'pgrst.db_schemas': `public, ${'a'.repeat(70_000)}` });
  const gw = await load(t, conf(db.dsn));
  await gw.waitForLog(/\[warn\].*"pgrst.db_schemas" in .* is ignored: the value is too long/);
  await expectSoon(gw, 'GET /api/seen?select=role', { expected: { json: [{ role: 'anon' }] } });
});
