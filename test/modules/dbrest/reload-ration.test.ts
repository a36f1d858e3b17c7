import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { scrape } from '../control/scrapes.ts';

const FIXTURE = `
  create domain table_name as regclass;
  create domain type_name as regtype;
  create domain function_name as regprocedure;
  create domain schema_name as regnamespace;
  create table notes (id int primary key, word text, target regclass);
  insert into notes values (1, 'nowhere', 'notes'), (2, 'no.where', 'notes'), (3, 'f(int)', 'notes');
  create function named(name regclass) returns text stable language sql as $$ select name::text $$;
  create function sized(name text) returns bigint stable language sql as $$ select pg_relation_size(name::regclass) $$;
  create function dynamic(name text) returns int stable language plpgsql
    as $$ begin execute format('select 1 from %I', name); return 1; end $$;
  grant select, insert, update on notes to anon;
`;

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  gw = await startGateway(
    file,
    `server {
       location = /metrics { control_api metrics; }
       location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; }
     }`,
  );
  await gw.expect('GET /api/notes?select=id&id=eq.1', { status: 200 });
});

async function loads(): Promise<number> {
  const metrics = await scrape(gw);
  const [, count] = [...metrics].find(([name]) => /schema_cache_loads_total.*success/.test(name)) ?? [];
  return count ?? 0;
}

type Request = [line: string, status: number, body?: string];

const JSON_TYPE = { 'content-type': 'application/json' };

async function ask(line: string, status: number, body?: string): Promise<void> {
  await gw.expect(line, { status }, body === undefined ? {} : { headers: JSON_TYPE, body });
}

/** The server reports a missing table, schema, type or function because of data in the request. */
const values: (Request | [...Required<Request>, statusBefore16: number])[] = [
  ['GET /api/notes?select=word::regclass&id=eq.1', 404],
  ['GET /api/notes?select=word::regclass&id=eq.2', 400],
  ['GET /api/notes?select=word::table_name&id=eq.1', 404],
  ['GET /api/notes?select=word::type_name&id=eq.1', 400],
  ['GET /api/notes?select=word::schema_name&id=eq.1', 400],
  ['GET /api/notes?target=eq.nowhere', 400],
  ['GET /api/notes?select=id&order=word::regclass', 400],
  ['POST /api/notes', 404, '{"id":9,"target":"nowhere"}'],
  // Before PostgreSQL 16 a cast reports the missing schema, since then the missing table.
  ['PATCH /api/notes?id=eq.1', 404, '{"target":"no.where"}', 400],
  ['GET /api/rpc/named?name=nowhere', 404],
  ['GET /api/rpc/sized?name=nowhere', 404],
  ['GET /api/rpc/dynamic?name=nowhere', 404],
];
test.each(values)(
  '%s does not make the gateway read the schema',
  async (...[line, status, body, statusBefore16 = status]) => {
    const before = await loads();
    const expected = db.majorVersion < 16 ? statusBefore16 : status;
    for (let i = 0; i < 3; i += 1) await ask(line, expected, body);
    expect(await loads()).toBe(before);
  },
);

/** The schema may have changed: it is read again, but not for each request. */
const names: Request[] = [
  ['GET /api/nowhere', 404],
  ['HEAD /api/nowhere', 404],
  ['OPTIONS /api/nowhere', 404],
  ['OPTIONS /api/rpc/nowhere', 404],
  ['POST /api/nowhere', 404, '{}'],
  ['GET /api/rpc/nowhere', 404],
  ['POST /api/rpc/named', 404, '{"nothing":1}'],
  ['GET /api/notes?select=nothing', 400],
  ['GET /api/notes?nothing=eq.1', 400],
  ['GET /api/notes?order=nothing', 400],
  ['GET /api/notes?select=nothing(*)', 400],
  ['GET /api/notes?select=id::nothing', 400],
  ['POST /api/notes?columns=nothing', 400, '{}'],
  ['GET /api/notes?id=like.x', 404],
  ['GET /api/notes?select=word.sum()', 404],
  ['GET /api/notes?select=word::function_name&id=eq.3', 404],
  ['GET /api/notes?word=adj.x', 404],
];
test.each(names)(
  '%s, repeated, makes the gateway read the schema once a second at most',
  async (line, status, body) => {
    const before = await loads();
    const startedMs = Date.now();
    const flood = (): Promise<unknown> =>
      Promise.all(Array.from({ length: 12 }, () => ask(line, status, body)));
    await flood();
    await flood();
    const seconds = Math.floor((Date.now() - startedMs) / 1000);
    expect((await loads()) - before).toBeLessThanOrEqual(1 + seconds);
  },
);

test('what was made within a second of the last read is found by the first request that names it', async () => {
  const asked: [sql: string, path: string][] = [
    ['create table late (id int); grant select on late to anon', '/api/late'],
    ['alter table late add word text', '/api/late?select=word'],
    ['alter table late add more text', '/api/late?more=eq.x&order=more'],
    ['create function late_one() returns int stable language sql as $$ select 1 $$', '/api/rpc/late_one'],
    ['alter table late add note_id int references notes', '/api/late?select=id,notes(id)'],
    ['create type late_kind as enum ($$a$$)', '/api/late?select=word::late_kind'],
    ['alter table late add last text', '/api/late?select=last'],
  ];
  await ask('GET /api/nowhere', 404);
  for (const [sql, path] of asked) {
    await db.query(sql);
    expect((await gw.fetch(path)).status, path).toBe(200);
  }
});
