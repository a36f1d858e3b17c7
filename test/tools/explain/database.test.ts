import { expect, test } from 'vitest';
import { load } from '../../../src/pipeline.ts';
import { startGateway } from '../../harness/gateway.ts';
import { postgres } from '../../harness/postgres.ts';
import { configured as withLogin } from '../../modules/dbrest/settings.ts';
import { accountOf, configured, textOf } from './explained.ts';

const TODOS = `
  create schema api;
  create table api.todos (id int primary key, task text, done bool default false);
  create function api.add(a int, b int) returns int language sql as 'select a + b';
  insert into api.todos values (1, 'first', false), (2, 'second', true);
  grant usage on schema api to anon; grant select, insert on api.todos to anon;
`;

const conf = (dsn: string): string => `events {} http { server { listen 80; location /rest/ {
  dbrest_pass "${dsn}"; dbrest_schemas api; dbrest_anon_role anon; dbrest_jwt_secret "a-secret-of-thirty-two-bytes-....";
} } }`;

const cases = [
  {
    it: 'reads rows',
    request: { url: '/rest/todos?select=id,task&done=is.false&order=id.desc&limit=5' },
    sql: /from "api"\."todos".*"done" is false.*order by .*"id" desc/is,
    parameters: [],
  },
  {
    it: 'filters by a value, which is a parameter',
    request: { url: '/rest/todos?task=eq.first' },
    sql: /"task" = \$1/i,
    parameters: ["$1 = 'first'"],
  },
  {
    it: 'inserts the rows of the body',
    request: { method: 'POST', url: '/rest/todos', body: '{"id":3,"task":"third"}' },
    sql: /insert into "api"\."todos"/i,
    parameters: [`$1 = '{"id":3,"task":"third"}'`],
  },
  {
    it: 'calls a function',
    request: { url: '/rest/rpc/add?a=1&b=2' },
    sql: /"api"\."add"/i,
    parameters: [],
  },
];

for (const { it, request, sql, parameters } of cases) {
  test(`explain shows the SQL that ${it}, and runs nothing of it`, async (t) => {
    const { dsn, query } = await postgres(TODOS);
    const account = await accountOf(configured(t, conf(dsn)), { live: true, ...request });
    const valuesOf = (label: string): readonly string[] =>
      account.answer.facts.filter((fact) => fact.label === label).map(({ value }) => value);
    expect(account.answer.status).toBeUndefined();
    expect(valuesOf('role')).toEqual(['anon (no token)']);
    expect(valuesOf('sql').join(';\n')).toMatch(sql);
    expect(valuesOf('parameter')).toEqual(expect.arrayContaining(parameters));
    const rows = await query<{ count: string }>('select count(*) from api.todos');
    expect(rows).toEqual([{ count: '2' }]);
  });
}

const costs = [
  { limit: '', shown: /^\d+(\.\d+)?$/ },
  { limit: 'dbrest_max_cost 100000;', shown: /^\d+(\.\d+)? of 100000$/ },
  { limit: 'dbrest_max_cost 1;', shown: /^\d+(\.\d+)?: refused, at most 1 is allowed$/ },
];

for (const { limit, shown } of costs) {
  test(`explain shows what a request would cost with "${limit}"`, async (t) => {
    const { dsn } = await postgres(TODOS);
    const explained = configured(t, conf(dsn).replace('dbrest_schemas', `${limit} dbrest_schemas`));
    const account = await accountOf(explained, { live: true, url: '/rest/todos?task=eq.first' });
    const cost = account.answer.facts.find(({ label }) => label === 'cost');
    expect(cost?.value).toMatch(shown);
  });
}

test('explain tells why the cost of a request is not known', async (t) => {
  const { dsn, query } = await postgres(TODOS);
  await query('revoke select on api.todos from anon');
  const account = await accountOf(configured(t, conf(dsn)), { live: true, url: '/rest/todos' });
  expect(account.answer.facts).toContainEqual({
    label: 'cost',
    value: 'unknown: permission denied for table todos',
  });
});

test('explain gives the response of the gateway to a request for a table that does not exist', async (t) => {
  const { dsn } = await postgres(TODOS);
  const { answer } = await accountOf(configured(t, conf(dsn)), { live: true, url: '/rest/nothing' });
  expect(answer.status).toBe(404);
  expect(answer.facts.find(({ label }) => label === 'body')?.value).toContain('PGRST205');
});

test('explain gives the arguments of a call where it may not read the schema', async (t) => {
  const dsn = 'postgresql://gw@127.0.0.1:1/gw';
  const { answer } = await accountOf(configured(t, conf(dsn)), { url: '/rest/rpc/add?a=1&b=2&limit=3' });
  expect(answer.status).toBeUndefined();
  expect(answer.does).toBe('calls a function of the database');
  expect(answer.facts.filter(({ label }) => label === 'argument' || label === 'limit')).toEqual([
    { label: 'argument', value: 'a = 1' },
    { label: 'argument', value: 'b = 2' },
    { label: 'limit', value: '3' },
  ]);
  expect(answer.unknown).toContain('--live');
});

test('explain shows no token and no password', async (t) => {
  const { dsn } = await postgres(TODOS);
  const token = 'eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoid2ViX3VzZXIifQ.c2lnbmF0dXJlLXRoYXQtaXMtbm90LXJpZ2h0';
  const account = await accountOf(configured(t, conf(dsn)), {
    live: true,
    url: '/rest/todos',
    headers: [['Authorization', `Bearer ${token}`]],
  });
  expect(JSON.stringify(account)).not.toContain(token);
  expect(JSON.stringify(account)).not.toContain('a-secret-of-thirty-two-bytes');
});

test('explain reads the schema of an embedded database, whether the gateway runs or not', async (t) => {
  const location =
    'location /rest/ { dbrest_pass embedded:pg; dbrest_embedded_init init.sql; dbrest_anon_role anon; }';
  const init =
    'create role anon; create table things (id int primary key); grant select on things to anon; grant usage on schema public to anon;';
  const gateway = await startGateway(t, `server { ${location} }`, { files: { 'init.sql': init } });
  const sqlOf = async (): Promise<string | undefined> => {
    const loaded = load({ confFile: gateway.conf, name: 'gw.conf', prefix: gateway.dir });
    const url = `${gateway.url}/rest/things?id=eq.1`;
    const { answer } = await accountOf({ dir: gateway.dir, loaded }, { live: true, url });
    return answer.facts.findLast(({ label }) => label === 'sql')?.value;
  };
  expect(await sqlOf()).toContain('"public"."things"');
  await gateway.stop();
  expect(await sqlOf()).toContain('"public"."things"');
});

test('explain tells the items of a batch, and what is wrong with one', async (t) => {
  const location = `dbrest_pass postgresql://gw@127.0.0.1:1/gw; dbrest_anon_role anon; dbrest_batch on;`;
  const asked = (body: string) =>
    accountOf(configured(t, `http { server { listen 80; location /rest/ { ${location} } } }`), {
      method: 'POST',
      url: '/rest/rpc/batch',
      headers: [['Content-Type', 'application/json']],
      body,
    });
  const { answer } = await asked('[{"path":"/a?id=eq.1"},{"method":"DELETE","path":"/b"}]');
  expect(answer.does).toBe('runs a batch of requests in one transaction');
  expect(answer.facts.filter(({ label }) => label === 'item').map(({ value }) => value)).toEqual([
    'GET /a?id=eq.1',
    'DELETE /b',
  ]);
  const refused = await asked('[{"path":"a"}]');
  expect(refused.answer.facts.find(({ label }) => label === 'body')?.value).toContain('DBREST111');
});

test('explain takes the settings in the database with --live, and else says that it does not know them', async (t) => {
  const db = await withLogin(TODOS);
  await db.set({ 'pgrst.db_max_rows': '7', 'pgrst.jwt_secret': 'hush-hush', 'pgrst.db_pool': '3' });
  const explained = configured(t, conf(db.dsn).replace('dbrest_schemas', 'dbrest_config on; dbrest_schemas'));
  const live = await textOf(explained, { live: true, url: '/rest/todos' });
  expect(live).toContain('pgrst.db_max_rows, of the database');
  expect(live).toContain('pgrst.jwt_secret, of the database');
  expect(live).toContain('"pgrst.db_pool" is ignored: it cannot change while the gateway runs');
  expect(live).toMatch(/limit \$\d|limit 7/i);
  expect(live).not.toContain('hush-hush');
  const quiet = await accountOf(explained, { url: '/rest/todos' });
  expect(quiet.answer.facts).toContainEqual({ label: 'setting', value: 'those of the file' });
  expect(quiet.answer.unknown).toContain('the settings in the database: "--live" reads them');
});
