import { beforeAll, expect, test } from 'vitest';
import pg from 'pg';
import type { Schema } from '../../../src/modules/dbrest/schema/index.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { direct, sharedDirect } from './direct.ts';
import { readSchema } from './read-schema.ts';

const FIXTURE = `
  create function keep(v int) returns int immutable language plpgsql
    as $$ begin perform set_config('app.kept', 'by ' || v, false); return v; end $$;
  create function on_write() returns trigger language plpgsql as $$ begin perform keep(new.id); return new; end $$;

  create table plain (id int primary key check (id > 0), word text default upper('a'), at timestamptz default now());
  create table random_keys (id uuid primary key default gen_random_uuid(), n float default random());
  create table identities (id int generated always as identity primary key);
  create table serials (id serial primary key, word text);
  create table children (id int primary key, parent_id int references plain);
  create table owners (id int primary key);
  create table owned (id int primary key, owner_id int references owners on delete cascade);
  create table renamed (id int primary key);
  create table followers (id int primary key, of int references renamed on update cascade);

  create table with_trigger (id int primary key);
  create trigger t before insert or update on with_trigger for each row execute function on_write();
  create table with_rule (id int primary key);
  create rule r as on insert to with_rule do also select keep(new.id);
  create table with_default (id int primary key default keep(1));
  create table with_check (id int primary key check (keep(id) > 0));
  create table with_generated (id int primary key, kept int generated always as (keep(id)) stored);
  create table with_index (id int primary key);
  create index on with_index (keep(id));
  create table with_predicate (id int primary key);
  create index on with_predicate (id) where keep(id) > 0;
  create table with_setting (id int primary key, kept text default set_config('app.kept', 'by a default', false));
  create table with_children (id int primary key);
  create table its_child () inherits (with_children);
  create table in_parts (id int primary key) partition by range (id);
  create view a_view as select * from plain;

  create table guarded (id int primary key);
  alter table guarded enable row level security;
  create policy p on guarded using (true) with check (keep(id) > 0);

  create function kept() returns text stable language sql as $$ select coalesce(current_setting('app.kept', true), '') $$;
  create function last() returns bigint volatile language sql as $$ select lastval() $$;
  grant select, insert, update, delete on all tables in schema public to anon;
  grant usage on all sequences in schema public to anon;
`;

let db: TestDatabase;
let schema: Schema;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  const client = new pg.Client({ connectionString: db.dsn });
  await client.connect();
  schema = await readSchema(client);
  await client.end();
});

const NONE = { cascades: false, sequences: false };
const tables: [table: string, writes: object | undefined][] = [
  ['plain', NONE],
  ['random_keys', NONE],
  ['children', NONE],
  ['owned', NONE],
  ['followers', NONE],
  ['identities', { ...NONE, sequences: true }],
  ['serials', { ...NONE, sequences: true }],
  ['owners', { ...NONE, cascades: true }],
  ['renamed', { ...NONE, cascades: true }],
  ['with_trigger', undefined],
  ['with_rule', undefined],
  ['with_default', undefined],
  ['with_check', undefined],
  ['with_generated', undefined],
  ['with_index', undefined],
  ['with_predicate', undefined],
  ['with_setting', undefined],
  ['with_children', undefined],
  ['in_parts', undefined],
  ['a_view', undefined],
];
test.each(tables)('the catalogue tells what a write of %s may run', (table, writes) => {
  expect(schema.tables.get('public')?.get(table)?.inertWrites).toEqual(writes);
});

const compiled = sharedDirect();

const keeping: [write: string, body: string | undefined][] = [
  ['POST /api/with_trigger', '{"id":1}'],
  ['PATCH /api/with_trigger?id=eq.1', '{"id":2}'],
  ['POST /api/with_default?columns=id', '{}'],
  ['POST /api/with_check', '{"id":1}'],
  ['POST /api/with_generated', '{"id":1}'],
  ['POST /api/with_index', '{"id":1}'],
  ['POST /api/with_predicate', '{"id":1}'],
  ['POST /api/with_setting', '{"id":1}'],
  ['POST /api/guarded', '{"id":1}'],
];
test.each(keeping)('a setting that %s has left does not meet the next request', async (write, body) => {
  const api = await compiled(db.dsn, { poolSize: 1 });
  const headers = { 'content-type': 'application/json', prefer: 'missing=default' };
  const { x, done } = api.start(write, headers, body);
  await done;
  expect(x.sent?.status).toBeLessThan(300);
  expect(await api.get('/api/rpc/kept')).toMatchObject({ status: 200, body: '""' });
});

test('the last value of a sequence does not meet the next request', async (t) => {
  const api = await direct(t, db.dsn, { poolSize: 1 });
  for (const table of ['identities', 'serials']) {
    const { x, done } = api.start(`POST /api/${table}`, { 'content-type': 'application/json' }, '{}');
    await done;
    expect(x.sent?.status).toBe(201);
    const { x: call, done: called } = api.start('POST /api/rpc/last', {}, '');
    await called;
    expect(call.sent?.body).toContain('lastval is not yet defined');
  }
});
