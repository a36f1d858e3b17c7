import { expect, test } from 'vitest';
import type { StoredFunction } from '../../../src/modules/dbrest/schema/index.ts';
import { pipeline } from './pipeline.ts';

const FIXTURE = `
  create table things (id int, name text);
  create view thing_names as select name from things;
  create type pair as (a int, b varchar(5));
  create domain tagged as pair;
  create domain "text/x-plain" as text;
  create domain "no media type" as text;

  create function all_kinds(a int, b text default 'x', variadic c numeric[] default '{}') returns int
    stable set statement_timeout = '1min' language sql as 'select 1';
  comment on function all_kinds is 'Takes everything';
  create function outs(out x int, a text, inout y pair, out z "text/x-plain") language sql as $$ select 1, y, 'z'::"text/x-plain" $$;
  create function of_table() returns setof things immutable language sql as 'select * from things';
  create function of_one() returns setof things language sql rows 1 as 'select * from things limit 1';
  create function of_view() returns thing_names language sql as 'select * from thing_names limit 1';
  create function of_pair() returns pair language sql as $$ select (1, 'b')::pair $$;
  create function of_domain() returns tagged language sql as $$ select (1, 'b')::pair::tagged $$;
  create function of_medias() returns setof "text/x-plain" language sql as $$ select 'x'::"text/x-plain" $$;
  create function of_media() returns "text/x-plain" language sql as $$ select 'x'::"text/x-plain" $$;
  create function of_other() returns "no media type" language sql as $$ select 'x'::"no media type" $$;
  create function of_columns() returns table (n int, m text[]) language sql as $$ select 1, '{}'::text[] $$;
  create function of_nothing() returns void language sql as '';
  create function of_record() returns record language sql as 'select 1, 2';
  create function whole(json) returns int language sql as 'select 1';
  create function "no time limit"() returns int set statement_timeout = 0 language sql as 'select 1';
  create procedure proceeds(n int) language sql as 'select 1';

  create function unnamed(int) returns int language sql as 'select 1';
  create function two_unnamed(json, int) returns int language sql as 'select 1';
  create function triggers() returns trigger language plpgsql as 'begin return new; end';
  create function row_of(things) returns int language sql as 'select 1';

  create function granted() returns int language sql as 'select 1';
  revoke all on function granted from public;
  grant execute on function granted to web_user;

  create function add(state text, one things) returns text language sql as 'select state';
  create function finish(state text) returns "text/x-plain" language sql as 'select state::"text/x-plain"';
  create aggregate of_things(things) (sfunc = add, stype = text, finalfunc = finish);
`;
const db = pipeline(FIXTURE);
const found = (name: string): readonly StoredFunction[] =>
  db.it.schema.functions?.get('public')?.get(name) ?? [];

const returned: readonly [name: string, returns: unknown, more?: object][] = [
  [
    'of_table',
    { kind: 'table', table: { schema: 'public', name: 'things' } },
    { returnsSet: true, volatility: 'immutable' },
  ],
  ['of_one', { kind: 'table' }, { returnsSet: true, isOneRow: true }],
  ['of_view', { kind: 'table', table: { schema: 'public', name: 'thing_names' } }, { returnsSet: false }],
  [
    'of_pair',
    {
      kind: 'columns',
      columns: [
        { name: 'a', type: 'integer' },
        { name: 'b', type: 'character varying(5)' },
      ],
      type: 'public.pair',
    },
  ],
  ['of_domain', { kind: 'columns', columns: [{ name: 'a' }, { name: 'b' }] }],
  ['of_media', { kind: 'scalar' }, { mediaType: 'text/x-plain' }],
  [
    'of_columns',
    {
      kind: 'columns',
      columns: [
        { name: 'n', type: 'integer' },
        { name: 'm', type: 'text[]' },
      ],
    },
    { returnsSet: true },
  ],
  ['of_nothing', { kind: 'void' }],
  ['of_record', { kind: 'scalar', type: 'record' }],
  ['proceeds', {}, { isProcedure: true }],
  ['no time limit', { kind: 'scalar' }, { timeoutMs: 0 }],
];
test.each(returned)('%s returns %j', (name, returns, more = {}) => {
  expect(found(name)).toMatchObject([{ returns, ...more }]);
});

test('arguments have names, types, defaults and the rest of them', () => {
  expect(found('all_kinds')).toMatchObject([
    {
      arguments: [
        { name: 'a', type: 'integer', required: true, variadic: false },
        { name: 'b', type: 'text', required: false, variadic: false },
        { name: 'c', type: 'numeric[]', required: false, variadic: true },
      ],
      volatility: 'stable',
      timeoutMs: 60_000,
      comment: 'Takes everything',
    },
  ]);
});

test('output arguments are columns, in any position', () => {
  expect(found('outs')).toMatchObject([
    {
      arguments: [
        { name: 'a', type: 'text' },
        { name: 'y', type: 'public.pair' },
      ],
      returns: { kind: 'columns', columns: [{ name: 'x' }, { name: 'y' }, { name: 'z' }] },
    },
  ]);
  expect(found('whole')).toMatchObject([{ arguments: [{ name: '', type: 'json' }] }]);
});

test.each(['unnamed', 'two_unnamed', 'triggers', 'row_of', 'of_things', 'pg_sleep'])(
  '%s cannot be called',
  (name) => {
    expect(found(name)).toEqual([]);
  },
);

test('only the domain of a media type is a media type', () => {
  expect(found('of_other')[0]).not.toHaveProperty('mediaType');
  expect(found('of_medias')[0]).not.toHaveProperty('mediaType');
});

test('the catalogue has the roles that may call a function', async () => {
  const [role] = (await db.it.query(`select oid::text from pg_roles where rolname = 'web_user'`)) as [
    { oid: string },
  ];
  expect(found('granted')[0]?.grantees).toContain(role.oid);
  expect(found('granted')[0]?.grantees).not.toContain('0');
  expect(found('of_nothing')[0]?.grantees).toContain('0');
});

test('aggregates that make media types are known with the rows that they take', () => {
  expect(db.it.schema.mediaHandlers).toEqual([
    {
      schema: 'public',
      name: 'of_things',
      mediaType: 'text/x-plain',
      table: { schema: 'public', name: 'things' },
    },
  ]);
});
