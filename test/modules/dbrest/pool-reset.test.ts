import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';

const FIXTURE = `
  create table items (id int primary key, word text);
  insert into items values (1, 'true');
  create sequence numbers;
  create function keep(name text, value text) returns text volatile language sql
    as $$ select set_config(name, value, false) $$;
  create function keep_stable(name text, value text) returns text stable language plpgsql
    as $$ begin return set_config(name, value, false); end $$;
  create function run(sql text) returns void volatile language plpgsql as $$ begin execute sql; end $$;
  create function run_and_fail(sql text) returns void volatile language plpgsql
    as $$ begin execute sql; raise 'failed'; end $$;
  create function on_write() returns trigger language plpgsql
    as $$ begin perform set_config('app.kept', 'by a trigger', false); return new; end $$;
  create trigger t before insert on items for each row execute function on_write();
  create view keeping as select set_config('app.kept', 'by a view', false) as kept;
  create view locking as select pg_advisory_lock(6) is null as locked;
  create function lock_stable() returns int stable language plpgsql
    as $$ begin perform pg_advisory_lock(7); return 1; end $$;
  create function do_and_return(sql text) returns int volatile language plpgsql as $$ begin execute sql; return 1; end $$;
  create view holding as select do_and_return('declare held cursor with hold for select 1') as done;
  create view listening_too as select do_and_return('listen somebody') as done;
  create function state() returns json stable language plpgsql set search_path = public as $$ begin
    return json_build_object(
      'kept', coalesce(current_setting('app.kept', true), ''), 'set', current_setting('app.settings.mine'),
      'dates', current_setting('DateStyle'),
      'application', current_setting('application_name'), 'session', session_user = 'web',
      'check', current_setting('client_connection_check_interval', true),
      'words', (select array_agg(word) from items where id = 1),
      'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
      'temporary', (select count(*) from pg_class where relpersistence = 't'),
      'statements', (select count(*) from pg_prepared_statements where from_sql),
      'cursors', (select count(*) from pg_cursors where is_holdable),
      'pid', pg_backend_pid());
  end $$;
  create view listening as select count(*) as channels from pg_listening_channels();
  create view outer_role as select session_user as login, current_setting('statement_timeout') as timeout;
  create type mood as enum ('glad', 'sad');
  create domain word as text check (value <> '');
  create table plain (id int primary key, word text, feelings mood[], parent int references plain);
  create table guarded (id int primary key);
  alter table guarded enable row level security;
  create policy p on guarded using (true);
  create table of_domains (id int primary key, word word);
  create table others (id int primary key);
  create table pairs (one int references plain, other int references others, primary key (one, other));
  alter table pairs enable row level security;
  create function computed(plain) returns text stable language sql as 'select $1.word';
  create view shown as select id, lower(word) as word, count(*) over () from plain;
  create view shown_twice as select shown.* from shown join plain using (id);
  create view calling as select state() from plain;
  create view over_calling as select * from calling;
  create view over_guarded as select * from guarded;
  create materialized view kept_rows as select * from keeping;
  create view prepared as select array_agg(statement) as statements from pg_prepared_statements;
  grant select on plain, others, guarded, of_domains, pairs, shown, shown_twice, calling, over_calling, over_guarded,
    kept_rows, prepared to anon;
  grant usage on sequence numbers to anon;
  grant select, insert on items to anon, web_user;
  grant select on locking, holding, listening_too to anon;
  grant select on keeping, outer_role, listening to anon, web_user;
`;

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
/** Reads, and whether each may leave something in its session. */
const reads: (readonly [path: string, mayLeave: boolean])[] = [
  ['plain', false],
  ['plain?select=word::int,n:feelings->0&word=like.a*&order=id', false],
  ['plain?select=id,plain!parent(id)&or=(id.eq.1,not.and(id.eq.2,id.gt.1))', false],
  ['plain?select=count(),id.sum()', false],
  ['kept_rows', false],
  ['shown', false],
  ['shown_twice?select=id', false],
  ['plain?select=computed', true],
  ['plain?computed=eq.a', true],
  ['plain?order=computed', true],
  ['plain?select=word::mood', true],
  ['plain?select=id,others(id)', true],
  ['guarded', true],
  ['of_domains', true],
  ['over_guarded', true],
  ['calling', true],
  ['over_calling', true],
  ['keeping', true],
];

beforeAll(async () => {
  db = await postgres(FIXTURE);
  const location = (more: string): string =>
    `{ dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_pool_size 1; dbrest_setting mine 'as configured'; ${more} }`;
  gw = await startGateway(
    file,
    `server {
       location /api/ ${location('')}
       location /kept/ ${location('dbrest_pool_reset none;')}
       ${reads.map((_, i) => `location /${i}/ ${location('').replace(db.dsn, `${db.dsn}?application_name=${i}`)}`).join('\n')}
     }`,
  );
});

const JSON_TYPE = { 'content-type': 'application/json' };
const keep = (name: string, value: string): string => `POST rpc/keep ${JSON.stringify({ name, value })}`;
const run = (sql: string, name = 'run'): string => `POST rpc/${name} ${JSON.stringify({ sql })}`;

async function ask(line: string, location = '/api/'): Promise<{ status: number; body: string }> {
  const [, method = '', path = '', body] = /^(\S+) (\S+)(?: (.*))?$/s.exec(line) ?? [];
  const init = { method, ...(body !== undefined && { body, headers: JSON_TYPE }) };
  return gw.fetch(location + path, init);
}

const state = async (): Promise<unknown> => {
  const { status, body } = await ask('GET rpc/state');
  expect([status, body]).toEqual([200, expect.any(String)]);
  return JSON.parse(body) as unknown;
};

/** `since`: the version of PostgreSQL that has brought the setting. */
const leaving: [line: string, status: number, since?: number][] = [
  [keep('app.kept', 'by a call'), 200],
  ['GET rpc/keep_stable?name=app.kept&value=by%20a%20read', 200],
  ['GET keeping', 200],
  ['POST items {"id":2}', 201],
  [keep('app.settings.mine', 'as a stranger likes it'), 200],
  [keep('DateStyle', 'SQL, DMY'), 200],
  [keep('application_name', 'another'), 200],
  [keep('client_connection_check_interval', '0'), 200, 14],
  [keep('search_path', 'pg_catalog'), 200],
  [keep('statement_timeout', '60000'), 200],
  [keep('default_transaction_read_only', 'on'), 200],
  [keep('role', 'web_user'), 200],
  [run('select pg_advisory_lock(5)'), 204],
  [run('select pg_advisory_lock(5)', 'run_and_fail'), 400],
  [run(`create temp table items as select 1 as id, 'false' as word`), 204],
  [run('declare c cursor with hold for select 1'), 204],
  [run('deallocate all'), 204],
  [run('prepare p as select 1'), 204],
  [run('prepare p as select 1', 'run_and_fail'), 400],
  ['GET locking', 200],
  ['GET rpc/lock_stable', 200],
  ['GET locking?locked=eq.x', 400],
  ['GET holding', 200],
];
test.for(leaving)(
  'no other request sees what %s leaves in its session',
  async ([line, status, since = 0], t) => {
    if (db.majorVersion < since) return t.skip(`the setting exists since PostgreSQL ${since}`);
    const before = await state();
    expect(before).toMatchObject({
      kept: '',
      set: 'as configured',
      check: db.majorVersion < 14 ? null : '500ms',
      words: ['true'],
      locks: 0,
      temporary: 0,
      cursors: 0,
      statements: 0,
    });
    const login = await ask('GET outer_role');
    const response = await ask(line);
    expect(response).toMatchObject({ status });
    // A request that fails also undoes the reset in front of it, so the next one repeats the reset.
    expect(await ask('GET items?select=nothing')).toMatchObject({ status: 400 });
    expect(await ask('GET items?id=eq.1&word=gt(any).%7B1%7D&limit=-1')).toMatchObject({ status: 416 });
    expect(await ask('GET items?select=word::int&id=eq.1')).toMatchObject({ status: 400 });
    expect(await state()).toEqual(before);
    expect(await ask('GET outer_role')).toMatchObject({ status: 200, body: login.body });
  },
);

for (const [i, [path, mayLeave]] of reads.entries()) {
  test(`a session ${mayLeave ? 'is' : 'need not be'} reset after a read of ${path}`, async () => {
    const location = `/${i}/`;
    for (let turn = 0; turn < 2; turn++)
      expect(await ask(`GET ${path}`, location)).toMatchObject({ status: 200 });
    const { body } = await ask('GET prepared', location);
    expect(body.includes('"reset all"')).toBe(mayLeave);
    expect(body).toContain('set_config');
  });
}

test.each([run('listen somebody'), 'GET listening_too'])(
  'a LISTEN by %s ends with the next request',
  async (line) => {
    expect((await ask(line)).status).toBeLessThan(300);
    await state();
    expect(await ask('GET listening')).toMatchObject({ body: '[{"channels":0}]' });
  },
);

test('with "dbrest_pool_reset none" a session keeps its settings', async () => {
  expect(await ask(keep('app.kept', 'for later'), '/kept/')).toMatchObject({ status: 200 });
  expect((await ask('GET rpc/state', '/kept/')).body).toContain('for later');
  expect(await state()).toMatchObject({ kept: '' });
  expect((await ask('GET rpc/state', '/kept/')).body).not.toContain('for later');
});
