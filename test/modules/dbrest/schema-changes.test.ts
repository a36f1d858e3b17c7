import { expect, onTestFinished, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, direct } from './direct.ts';

const FIXTURE = `
  create table owners (id int primary key, name text);
  create table things (id int primary key, name text, extra int, owner_id int references owners);
  create function all_things() returns setof things stable language sql as $$ select * from things $$;
  insert into owners values (1, 'Ann');
  insert into things select i, 'n' || i, i, 1 from generate_series(1, 5) i;
  create function doubled(n int) returns int immutable language sql as $$ select n * 2 $$;
  create function forget() returns text volatile language plpgsql
    as $$ begin execute 'deallocate all'; return 'done'; end $$;
  create view forgets as select forget();
  create view whoami as select pg_backend_pid() as pid;
  grant select on all tables in schema public to anon;
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
    'drop function doubled; create function doubled(n text) returns text immutable language sql as $$ select n || n $$',
    'rpc/doubled?n=1',
    {},
    '"11"',
  ],
];
test.each(changes)(
  'after "%s" %s with %j gets the current rows',
  async (...[sql, request, headers, body]) => {
    const { db, api } = await open();
    expect(await api.get(`/api/${request}`, headers)).toMatchObject({ status: 200 });
    await db.query(sql);
    expect(await api.get(`/api/${request}`, headers)).toMatchObject({ status: 200, body });
  },
);

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
      while (responses < seen + 20) await new Promise((resolve) => setImmediate(resolve));
    }
  }
  isOver = true;
  await clients;
  expect(failures).toEqual([]);
});
