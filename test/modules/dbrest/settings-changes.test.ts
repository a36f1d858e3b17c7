import { beforeAll, expect, test, vi } from 'vitest';
import { openEvents } from '../../harness/event-source.ts';
import { type Gateway, oneGateway } from '../../harness/gateway.ts';
import { perTier } from '../../harness/tier.ts';
import { throughProxy } from './database-proxy.ts';
import { type ConfiguredDatabase, configured, expectSoon } from './settings.ts';
import { bearer, SECRET, sign } from '../../harness/tokens.ts';

const load = oneGateway({ workers: 2 });

const FIXTURE = `
  create schema api;
  create table items (id int primary key, word text);
  insert into items values (1, 'of public');
  create table api.items (id int primary key, word text);
  insert into api.items values (1, 'of api');
  create view seen as select current_user::text as role, current_setting('app.settings.mode', true) as mode;
  grant usage on schema api to anon, web_user;
  grant select on items, api.items, seen to anon, web_user;
`;

let db: ConfiguredDatabase;
beforeAll(async () => {
  db = await configured(FIXTURE);
});

const location = (dsn: string, more = ''): string => `
  dbrest_pass ${dsn};
  dbrest_config on;
  dbrest_anon_role anon;
  dbrest_jwt_secret "${SECRET}";
  ${more}`;
const conf = (dsn: string, more = ''): string =>
  `error_log error.log info; server { location /api/ { ${location(dsn, more)} } }`;

const ALL_WORKERS = 16;
const WORD = 'GET /api/items?select=word';
const word = (text: string) => ({ expected: { status: 200, json: [{ word: text }] }, inARow: ALL_WORKERS });
const role = (name: string) => ({ expected: { status: 200, json: [{ role: name }] }, inARow: ALL_WORKERS });

async function announced(settings: Parameters<ConfiguredDatabase['set']>[0]): Promise<void> {
  await db.set(settings);
  await db.announce();
}

/** Removes all settings that a test has made. */
async function forget(...names: readonly string[]): Promise<void> {
  const none = Object.fromEntries(names.map((name) => [name, null]));
  await db.set(none);
  await db.setEverywhere(none);
}

test('settings for this database go before those for all, and these before the file, in every worker', async (t) => {
  t.onTestFinished(() => forget('pgrst.db_schemas'));
  await db.setEverywhere({ 'pgrst.db_schemas': 'api' });
  const gw = await load(t, conf(db.dsn));
  await expectSoon(gw, WORD, word('of api'));
  await announced({ 'pgrst.db_schemas': 'public' });
  await expectSoon(gw, WORD, word('of public'));
  await announced({ 'pgrst.db_schemas': null });
  await expectSoon(gw, WORD, word('of api'));
  await db.setEverywhere({ 'pgrst.db_schemas': null });
  await db.announce();
  await expectSoon(gw, WORD, word('of public'));
});

test('settings of other roles, and of the database, are none of the login role', async (t) => {
  t.onTestFinished(async () => {
    await db.query(`alter role anon in database ${db.database} reset pgrst.db_schemas`);
    await db.query(`alter database ${db.database} reset pgrst.db_schemas`);
  });
  await db.query(`alter role anon in database ${db.database} set pgrst.db_schemas = 'api'`);
  await db.query(`alter database ${db.database} set pgrst.db_schemas = 'api'`);
  const gw = await load(t, conf(db.dsn));
  await expectSoon(gw, WORD, word('of public'));
});

test('without dbrest_config settings have no effect, and "reload config" is ignored, which the log says once', async (t) => {
  t.onTestFinished(() => forget('pgrst.db_schemas'));
  const own = await configured(FIXTURE);
  await own.set({ 'pgrst.db_schemas': 'api' });
  const gw = await load(t, conf(own.dsn, 'dbrest_config off;').replace('dbrest_config on;', ''));
  const from = gw.errorLog().length;
  await expectSoon(gw, WORD, word('of public'));
  await listening(own);
  for (let i = 0; i < 3; i += 1) await own.announce();
  await own.query(`notify pgrst, 'reload schema'`);
  await gw.waitForLog(/the schema of ".*" is read again/, from);
  expect(
    gw
      .errorLog()
      .slice(from)
      .match(/"reload config" from ".*" is ignored/g),
  ).toHaveLength(1);
  await expectSoon(gw, WORD, word('of public'));
});

/** A notification before that is missed. */
async function listening({ query }: ConfiguredDatabase): Promise<void> {
  const sql = `select from pg_stat_activity where datname = current_database() and query like 'listen %'`;
  await vi.waitFor(async () => expect(await query(sql)).not.toEqual([]));
}

test('settings that changed while nobody listened are read when somebody does again', async (t) => {
  t.onTestFinished(() => forget('pgrst.db_schemas'));
  const gw = await load(t, conf(db.dsn));
  await expectSoon(gw, WORD, word('of public'));
  await listening(db);
  await db.set({ 'pgrst.db_schemas': 'api' });
  await db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen %'`,
  );
  await expectSoon(gw, WORD, word('of api'));
});

test('a reload of the file never serves a request by the values of the file', async (t) => {
  t.onTestFinished(() => forget('pgrst.db_schemas'));
  const gw = await load(t, conf(db.dsn));
  await announced({ 'pgrst.db_schemas': 'api' });
  await expectSoon(gw, WORD, word('of api'));
  let isOver = false;
  const seen = new Set<string>();
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) seen.add((await gw.fetch('/api/items?select=word')).body);
  });
  for (const more of ['dbrest_max_rows 5;', 'dbrest_max_rows 6;', ''])
    expect(await gw.reload(conf(db.dsn, more))).toBe('done');
  isOver = true;
  await Promise.all(clients);
  expect([...seen]).toEqual(['[{"word":"of api"}]']);
});

test('a token that was verified with a key is refused when the key changes', async (t) => {
  t.onTestFinished(() => forget('pgrst.jwt_secret'));
  const gw = await load(t, conf(db.dsn));
  const headers = bearer(sign({ role: 'web_user' }));
  await expectSoon(gw, 'GET /api/seen?select=role', { ...role('web_user'), headers });
  await announced({ 'pgrst.jwt_secret': 'another secret of at least thirty-two bytes' });
  await expectSoon(gw, 'GET /api/seen?select=role', { ...role('anon'), headers });
  await announced({ 'pgrst.jwt_secret': null });
  await expectSoon(gw, 'GET /api/seen?select=role', { ...role('web_user'), headers });
});

test('streams end when the settings change', async (t) => {
  t.onTestFinished(() => forget('pgrst.db_max_rows'));
  const gw = await load(t, conf(db.dsn, 'dbrest_listen chat;'));
  const source = await openEvents(t, `http://127.0.0.1:${gw.port}/api/`);
  expect(source.response.statusCode).toBe(200);
  await announced({ 'pgrst.db_max_rows': '7' });
  await source.ended();
});

test('until the database can be read, requests get 503 and not what the file says', async (t) => {
  t.onTestFinished(() => forget('pgrst.db_schemas'));
  await db.set({ 'pgrst.db_schemas': 'api' });
  let isDown = true;
  const dsn = await throughProxy(db, (bytes, { client, upstream }) =>
    isDown ? client.destroy() : upstream.write(bytes),
  );
  const gw = await load(t, conf(dsn));
  for (const request of [WORD, 'GET /api/', 'OPTIONS /api/items', 'POST /api/items'])
    await gw.expect(request, { status: 503, body: /PGRST00[02]/, headers: { 'retry-after': /^\d+$/ } });
  const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
  await gw.expect('OPTIONS /api/items', { status: 503 }, { headers: preflight });
  isDown = false;
  await expectSoon(gw, WORD, word('of api'));
  isDown = true;
  await db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = '${db.login}'`,
  );
  await gw.expect('GET /api/items?select=word', { status: 503 });
  isDown = false;
  await expectSoon(gw, WORD, word('of api'));
});

const ROUNDS = perTier({ short: 12, long: 120 });
const CLIENTS = 12;
const HEADERS = Object.fromEntries(
  Array.from({ length: ROUNDS + 1 }, (_, round) => [`x-trace-${round}`, `${round}`]),
);

/** All of these change at once, each one at another step of a request. */
const roundSettings = (round: number): Record<string, string> => ({
  'pgrst.db_anon_role': roleOf(round),
  // Without the prefix, PostgreSQL itself would set it in later sessions.
  'pgrst.app.settings.mode': `${round}`,
  'pgrst.server_trace_header': `X-Trace-${round}`,
  'pgrst.server_cors_allowed_origins': `https://a.example, https://${round}.example`,
  'pgrst.jwt_role_claim_key': `role${round}`,
});
const roleOf = (round: number): string => (round % 2 === 0 ? 'anon' : 'web_user');

/** The rounds that a response shows signs of. */
async function roundsSeen(gw: Gateway, path: string): Promise<ReadonlySet<string>> {
  const { status, body, headers } = await gw.fetch(path, { headers: HEADERS });
  if (status !== 200) return new Set([`${status} ${body}`]);
  const [{ role: seenRole, mode } = { role: '', mode: '' }] = JSON.parse(body) as {
    role: string;
    mode: string;
  }[];
  const traced = Object.keys(HEADERS).filter((name) => headers.get(name) !== null);
  if (traced.length !== 1) return new Set([mode, `${traced.length} traces`]);
  const rounds = new Set([mode, ...traced.map((name) => name.slice('x-trace-'.length))]);
  if (roleOf(Number(mode)) !== seenRole) rounds.add(`the role of another round: ${seenRole}`);
  return rounds;
}

test('no request is served by values of two versions, with and without a cache', async (t) => {
  t.onTestFinished(() => forget(...Object.keys(roundSettings(0))));
  await announced(roundSettings(0));
  const cache = 'dbrest_cache rows; dbrest_cache_valid 1m;';
  const gw = await load(
    t,
    `proxy_cache_path cache keys_zone=rows:1m; error_log error.log info;
     server { location /api/ { ${location(db.dsn)} } location /kept/ { ${location(db.dsn, cache)} } }`,
  );
  await expectSoon(gw, 'GET /api/seen?select=mode', {
    expected: { json: [{ mode: '0' }] },
    inARow: ALL_WORKERS,
  });
  let isOver = false;
  const mixed: string[] = [];
  const seen = new Set<string>();
  const client = async (path: string): Promise<void> => {
    while (!isOver) {
      const rounds = await roundsSeen(gw, path);
      if (rounds.size === 1) for (const round of rounds) seen.add(round);
      else mixed.push([...rounds].join(', '));
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, i) => client(`/${i % 2 ? 'api' : 'kept'}/seen`));
  for (let round = 1; round <= ROUNDS; round += 1) {
    await db.set(roundSettings(round));
    await db.announce();
    await vi.waitFor(() => expect(seen).toContain(`${round}`), { timeout: 15_000 });
  }
  isOver = true;
  await Promise.all(clients);
  expect(mixed).toEqual([]);
  expect([...seen].every((round) => /^\d+$/.test(round))).toBe(true);
  for (const path of ['api', 'kept'])
    await expectSoon(gw, `GET /${path}/seen?select=mode`, {
      expected: { json: [{ mode: `${ROUNDS}` }] },
      inARow: ALL_WORKERS,
    });
});
