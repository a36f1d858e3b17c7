import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, direct } from './direct.ts';

const FIXTURE = `
  create table owners (id int primary key, name text);
  create table things (id int primary key, name text, extra int, owner_id int references owners);
  create function all_things() returns setof things stable language sql as $$ select * from things $$;
  insert into owners values (1, 'Ann');
  insert into things select i, 'n' || i, i, 1 from generate_series(1, 5) i;
  create function first_thing() returns things stable language sql as $$ select * from things order by id limit 1 $$;
  create function each_thing() returns setof things stable language plpgsql
    as $$ begin return query select * from things order by id; end $$;
  create function each_thing(owners) returns setof things stable language sql
    as $$ select * from things where owner_id = $1.id order by id $$;
  create function inner_things() returns setof things stable language plpgsql
    as $$ begin return query select * from each_thing(); end $$;
  create sequence calls;
  create function count_call() returns setof things volatile language plpgsql
    as $$ begin perform nextval('calls'); return query select * from things where id = 1; end $$;
  create function doubled(n int) returns int immutable language sql as $$ select n * 2 $$;
  create function forget() returns text volatile language plpgsql
    as $$ begin execute 'deallocate all'; return 'done'; end $$;
  create view forgets as select forget();
  create view whoami as select pg_backend_pid() as pid;
  create type status as enum ('new', 'old');
  create domain price as int;
  create table goods (id int primary key, status status, price price, made date, big int);
  insert into goods values (1, 'new', 1, '2020-01-01', 1);
  create function of_status(s status) returns setof goods stable language sql as $$ select * from goods where status = s $$;
  create function checked(s text) returns boolean stable language plpgsql
    as $$ declare x status; begin x := s; return x = 'new'; end $$;
  create function noted(s text) returns boolean volatile language plpgsql
    as $$ declare x status; begin perform nextval('calls'); x := s; return x = 'new'; end $$;
  grant select, insert, update, delete on goods to anon;
  grant select on all tables in schema public to anon;
  grant usage on sequence calls to anon;
`;

/** A location with one connection, which has the statements that were prepared before. */
async function open(): Promise<{ db: TestDatabase; api: Direct }> {
  const db = await postgres(FIXTURE);
  return { db, api: await direct({ onTestFinished }, db.dsn, { poolSize: 1 }) };
}

const CSV = { accept: 'text/csv' };
const changes: [sql: string, request: string, accept: Record<string, string>, body: string][] = [
  ['alter table things alter extra type text', 'things?select=extra&id=eq.1', {}, '[{"extra":"1"}]'],
  ['alter table things alter extra type text', 'things?select=extra&id=eq.1', CSV, 'extra\n1'],
  ['alter table things drop extra', 'things?id=eq.1', {}, '[{"id":1,"name":"n1","owner_id":1}]'],
  ['alter table things drop extra', 'things?id=eq.1', CSV, 'id,name,owner_id\n1,n1,1'],
  [
    'alter table things rename owner_id to holder_id',
    'things?select=id,owners(name)&id=eq.1',
    {},
    '[{"id":1,"owners":{"name":"Ann"}}]',
  ],
  ['alter table things rename extra to more', 'things?id=eq.1', CSV, 'id,name,more,owner_id\n1,n1,1,1'],
  [
    'alter table things rename to items; create view things as select id from items; grant select on things to anon',
    'things?id=eq.1',
    {},
    '[{"id":1}]',
  ],
  [
    'alter table things alter extra type text',
    'rpc/each_thing?id=eq.1',
    {},
    '[{"id":1,"name":"n1","extra":"1","owner_id":1}]',
  ],
  ['alter table things drop extra', 'rpc/each_thing?id=eq.1', CSV, 'id,name,owner_id\n1,n1,1'],
  ['alter table things drop extra', 'rpc/first_thing', {}, '{"id":1,"name":"n1","owner_id":1}'],
  [
    'drop function doubled; create function doubled(n text) returns text immutable language sql as $$ select n || n $$',
    'rpc/doubled?n=1',
    {},
    '"11"',
  ],
];

const REPLACED_ENUM = `
  alter type status rename to former; create type status as enum ('new', 'old', 'odd');
  alter table goods alter status type status using status::text::status;
  drop function of_status; drop type former;
  create function of_status(s status) returns setof goods stable language sql as $$ select * from goods where status = s $$`;
const REPLACED_DOMAIN = `
  alter table goods alter price type int; drop domain price; create domain price as text;
  alter table goods alter price type price`;
/** Statements keep the types that their parameters had when they were prepared. */
changes.push(
  ['alter table things alter extra type text', 'things?select=id&extra=eq.1', {}, '[{"id":1}]'],
  ['alter table things alter extra type text', 'things?select=id&extra=in.(1,9)', {}, '[{"id":1}]'],
  ['alter table things alter extra type text', 'things?select=id&or=(extra.eq.1)', CSV, 'id\n1'],
  ['alter table goods alter big type bigint', 'goods?select=id&big=lt.5000000000', {}, '[{"id":1}]'],
  [REPLACED_ENUM, 'goods?select=id&status=eq.new', {}, '[{"id":1}]'],
  [REPLACED_ENUM, 'goods?select=id&status=in.(new,old)', {}, '[{"id":1}]'],
  [REPLACED_ENUM, 'rpc/of_status?s=new&select=id', {}, '[{"id":1}]'],
  [REPLACED_ENUM, 'rpc/checked?s=new', {}, 'true'],
  [REPLACED_DOMAIN, 'goods?select=id&price=eq.1', {}, '[{"id":1}]'],
);
test.each(changes)(
  'after "%s" %s with %j gets the current rows',
  async (...[sql, request, headers, body]) => {
    const { db, api } = await open();
    const isOutside = request.endsWith('5000000000');
    expect(await api.get(`/api/${request}`, headers)).toMatchObject({ status: isOutside ? 400 : 200 });
    await db.query(sql);
    expect(await api.get(`/api/${request}`, headers)).toMatchObject({ status: 200, body });
  },
);

/** Changes that the server does not notice, or not where it should. */
const unnoticed: [change: string, request: string, body: string][] = [
  ['add more text', 'rpc/first_thing', '{"id":1,"name":"n1","extra":1,"owner_id":1,"more":null}'],
  ['rename extra to more', 'rpc/each_thing?id=eq.1', '[{"id":1,"name":"n1","more":1,"owner_id":1}]'],
  ['drop extra', 'rpc/all_things?id=eq.1', '[{"id":1,"name":"n1","owner_id":1}]'],
  ['drop extra', 'rpc/inner_things?id=eq.1', '[{"id":1,"name":"n1","owner_id":1}]'],
  [
    'drop extra',
    'owners?select=each_thing(*)&each_thing.limit=1',
    '[{"each_thing":[{"id":1,"name":"n1","owner_id":1}]}]',
  ],
];
test.each(unnoticed)(
  'after "alter table things %s" %s gets the current rows once the schema is read again',
  async (...[change, request, body]) => {
    const { db, api } = await open();
    expect(await api.get(`/api/${request}`)).toMatchObject({ status: 200 });
    await db.query(`alter table things ${change}`);
    // The name might be that of a new table.
    expect(await api.get('/api/nothing')).toMatchObject({ status: 404 });
    expect(await api.get(`/api/${request}`)).toMatchObject({ status: 200, body });
  },
);

test('a read that waited for a change of its table gets the current rows', async (t) => {
  const { db, api } = await open();
  expect(await api.get('/api/rpc/first_thing')).toMatchObject({ status: 200 });
  const changing = new pg.Client(db.adminDsn);
  await changing.connect();
  t.onTestFinished(() => changing.end());
  await changing.query('begin; alter table things alter extra type text');
  const reading = api.get('/api/rpc/first_thing');
  await expect.poll(() => db.query('select from pg_locks where not granted')).toHaveLength(1);
  await changing.query('commit');
  const body = '{"id":1,"name":"n1","extra":"1","owner_id":1}';
  expect(await reading).toMatchObject({ status: 200, body });
});

test('a volatile function that ran in vain after a change of its rows is not run again', async () => {
  const { db, api } = await open();
  const call = async (): Promise<number | undefined> => {
    const { x, done } = api.start('POST /api/rpc/count_call', {}, '');
    await done;
    return x.sent?.status;
  };
  expect(await call()).toBe(200);
  await db.query('alter table things drop extra');
  expect(await call()).toBe(400);
  expect(await db.query('select last_value::int as n from calls')).toEqual([{ n: 2 }]);
  expect(await call()).toBe(200);
});

const writes: [sql: string, request: string, body: string, statuses: [before: number, after: number]][] = [
  ['alter table goods alter big type text', 'PATCH /api/goods?big=eq.1', '{"made":"2021-01-01"}', [204, 204]],
  ['alter table goods alter big type text', 'DELETE /api/goods?big=eq.7', '', [204, 204]],
  [REPLACED_ENUM, 'PATCH /api/goods?status=eq.new', '{"status":"old"}', [204, 204]],
  [REPLACED_ENUM, 'POST /api/goods', '{"id":2,"status":"new"}', [201, 409]],
  [REPLACED_DOMAIN, 'PATCH /api/goods?price=eq.1', '{"price":"2"}', [204, 204]],
];
test.each(writes)('after "%s" %s %s is written once', async (...[sql, request, body, statuses]) => {
  const { db, api } = await open();
  await db.query(`
    create function note() returns trigger language plpgsql as $$ begin perform nextval('calls'); return null; end $$;
    create trigger note after insert or update or delete on goods for each statement execute function note()`);
  const seen: (number | undefined)[] = [];
  for (const change of ['select', sql]) {
    await db.query(change);
    const { x, done } = api.start(request, { 'content-type': 'application/json' }, body);
    await done;
    seen.push(x.sent?.status);
  }
  expect(seen).toEqual(statuses);
  // A row that exists already calls no trigger.
  const runs = statuses.filter((status) => status < 400).length;
  expect(await db.query('select last_value::int as n from calls')).toEqual([{ n: runs }]);
});

/** Calls the volatile function that has a variable of the enum. */
async function note(api: Direct): Promise<[status: number | undefined, body: string | undefined]> {
  const { x, done } = api.start('POST /api/rpc/noted', { 'content-type': 'application/json' }, '{"s":"new"}');
  await done;
  return [x.sent?.status, x.sent?.body];
}

test('after a type was replaced a volatile function fails once at most, and is not run again', async () => {
  const { db, api } = await open();
  expect(await note(api)).toEqual([200, 'true']);
  await db.query(REPLACED_ENUM);
  const [status, body = ''] = await note(api);
  expect(status).toBe(503);
  expect(JSON.parse(body)).toMatchObject({
    code: 'XX000',
    message: expect.stringMatching(/^cache lookup failed for type \d+$/) as string,
  });
  expect(await db.query('select last_value::int as n from calls')).toEqual([{ n: 2 }]);
  expect(await note(api)).toEqual([200, 'true']);
});

test('no function meets a replaced type once the schema is read again', async () => {
  const { db, api } = await open();
  expect(await note(api)).toEqual([200, 'true']);
  await db.query(REPLACED_ENUM);
  expect(await api.get('/api/nothing')).toMatchObject({ status: 404 });
  expect(await note(api)).toEqual([200, 'true']);
});

test('a value that does not fit is refused for what it is, before and after a change', async () => {
  const { db, api } = await open();
  const refused = { status: 400, body: expect.stringContaining('"code":"22P02"') as string };
  for (let i = 0; i < 3; i += 1) expect(await api.get('/api/goods?status=eq.none')).toMatchObject(refused);
  await db.query(REPLACED_ENUM);
  for (let i = 0; i < 3; i += 1) expect(await api.get('/api/goods?status=eq.none')).toMatchObject(refused);
});

test('a session that lost its statements prepares them again', async () => {
  const { api } = await open();
  const before = await api.get('/api/whoami');
  expect(await api.get('/api/forgets')).toMatchObject({ status: 200, body: '[{"forget":"done"}]' });
  expect(await api.get('/api/whoami')).toEqual(before);
});

const REQUESTS = [
  ['things', {}],
  ['things', CSV],
  ['things?select=id,name,owners(name)', {}],
  ['things?select=name&order=id.desc', CSV],
  ['rpc/all_things?select=id', {}],
  ['rpc/all_things', CSV],
  ['things?extra=eq.1', {}],
  ['goods?select=id&status=eq.new', {}],
  ['rpc/of_status?s=new', {}],
  ['rpc/checked?s=new', {}],
] as const;
const DDL = [
  'alter table things add column c0 int default 1',
  'alter table things alter c0 type text',
  'alter table things rename c0 to c1',
  'create table other (id int primary key, thing_id int references things)',
  'alter table things drop c1',
  'alter table things rename owner_id to holder_id',
  'alter table other rename to another',
  'drop table another',
  'alter table things rename holder_id to owner_id',
  'alter table things alter extra type text',
  `begin; ${REPLACED_ENUM}; commit`,
  'alter table things alter extra type int using extra::int',
];

test('changes of the schema under load lose no request', async () => {
  const db = await postgres(FIXTURE);
  const api = await direct({ onTestFinished }, db.dsn, { poolSize: 4, poolTimeoutMs: 30_000 });
  let isOver = false;
  let responses = 0;
  const failures: string[] = [];
  const ask = async (client: number): Promise<void> => {
    for (let i = client; !isOver; i += 1) {
      const [request, headers] = REQUESTS[i % REQUESTS.length] as (typeof REQUESTS)[number];
      const { status, body } = await api.get(`/api/${request}`, headers);
      responses += 1;
      if (status !== 200) failures.push(`${request}: ${status} ${body}`);
    }
  };
  const clients = Promise.all(Array.from({ length: 8 }, (_, i) => ask(i)));
  for (let round = 0; round < 4; round += 1) {
    for (const sql of DDL) {
      await db.query(sql);
      const seen = responses;
      while (responses < seen + 20) await sleep(2);
    }
  }
  isOver = true;
  await clients;
  expect(failures).toEqual([]);
});
