import { describe, expect, test } from 'vitest';
import { planRead } from '../../../src/modules/dbrest/plan/index.ts';
import { parseReadQuery } from '../../../src/modules/dbrest/request/index.ts';
import type { Schema } from '../../../src/modules/dbrest/schema/index.ts';
import { shapedSql, searchPath } from '../../../src/modules/dbrest/sql/index.ts';
import { quoteIdentifier } from '../../../src/postgres/index.ts';

const columns = [
  { name: 'id', type: 'integer' },
  { name: 'say "hi"', type: 'text' },
  { name: 'words', type: 'tsvector' },
];
const schema: Schema = {
  tables: new Map([
    [
      'api',
      new Map([
        [
          't',
          {
            schema: 'api',
            name: 't',
            columns: new Map(columns.map((c) => [c.name, c])),
            primaryKey: ['id'],
            grantees: ['10'],
          },
        ],
      ]),
    ],
  ]),
  textSearchConfigs: new Set(['english']),
  roles: new Map(),
};

const plan = (query: string) =>
  planRead(parseReadQuery(query), { schema: 'api', table: 't', role: 'anon' }, schema);

const cases: [query: string, rows: string, values: string[]][] = [
  ['', 'select r.* from "api"."t" r', []],
  ['select=', 'select r.* from "api"."t" r', []],
  ['select=id,n:id,id::text', 'select r."id", r."id" as "n", r."id"::text as "id" from "api"."t" r', []],
  ['select="say \\"hi\\""', 'select r."say ""hi""" from "api"."t" r', []],
  ['select="evil\\"; drop":id', 'select r."id" as "evil""; drop" from "api"."t" r', []],
  ['select=id::INT8', 'select r."id"::bigint as "id" from "api"."t" r', []],
  ["id=eq.1'; drop table t", 'select r.* from "api"."t" r where r."id" = $1', ["1'; drop table t"]],
  [
    'id=gte.1&id=not.lt.9',
    'select r.* from "api"."t" r where r."id" >= $1 and not (r."id" < $2)',
    ['1', '9'],
  ],
  ['id=in.(1,"a\\"b\\\\c")', 'select r.* from "api"."t" r where r."id" = any($1)', ['{"1","a\\"b\\\\c"}']],
  ['id=in.()', 'select r.* from "api"."t" r where r."id" = any($1)', ['{}']],
  ['id=not.is.null', 'select r.* from "api"."t" r where not (r."id" is null)', []],
  ['id=is.not_null', 'select r.* from "api"."t" r where r."id" is not null', []],
  ['id=like.*a*', 'select r.* from "api"."t" r where r."id" like $1', ['%a%']],
  ['id=match.^a*', 'select r.* from "api"."t" r where r."id" ~ $1', ['^a*']],
  ['words=fts.cat', 'select r.* from "api"."t" r where r."words" @@ pg_catalog.to_tsquery($1)', ['cat']],
  [
    'words=fts.english.cat',
    'select r.* from "api"."t" r where r."words" @@ pg_catalog.to_tsquery($1::pg_catalog.regconfig, $2)',
    ['english', 'cat'],
  ],
  [
    'words=fts.klingon.cat',
    'select r.* from "api"."t" r where r."words" @@ pg_catalog.to_tsquery($1)',
    ['klingon.cat'],
  ],
  ['"say \\"hi\\""=eq.1', 'select r.* from "api"."t" r where r."say ""hi""" = $1', ['1']],
  ['order=id.desc.nullslast,id', 'select r.* from "api"."t" r order by r."id" desc nulls last, r."id"', []],
  [
    'limit=5&offset=10&id=eq.1',
    'select r.* from "api"."t" r where r."id" = $1 limit $2 offset $3',
    ['1', '5', '10'],
  ],
];

describe('a read as SQL', () => {
  test.each(cases)('%s', (query, rows, values) => {
    const text = `select coalesce(pg_catalog.json_agg(t.*), '[]')::text, pg_catalog.count(*)::text from (${rows}) t`;
    expect(shapedSql(plan(query), 'whole')).toEqual({ text, values });
  });

  test('makes one text of requests that differ in values only', () => {
    const texts = ['id=eq.1&limit=1', 'id=eq.2&limit=2'].map((query) => shapedSql(plan(query), 'whole').text);
    expect(texts[0]).toBe(texts[1]);
  });
});

const unknown: [query: string, message: string][] = [
  ['select=nope', 'column t.nope does not exist'],
  ['nope=eq.1', 'column t.nope does not exist'],
  ['order=nope', 'column t.nope does not exist'],
  ['select=__proto__', 'column t.__proto__ does not exist'],
  ['select=ctid', 'column t.ctid does not exist'],
  ['select=id::pg_sleep', 'type "pg_sleep" does not exist'],
];

describe('planRead', () => {
  test.each(unknown)('refuses %s', (query, message) => {
    expect(() => plan(query)).toThrow(message);
  });

  test.each(['nope', '__proto__', 'constructor', 'pg_class'])('finds no table %s', (table) => {
    expect(() => planRead(parseReadQuery(''), { schema: 'api', table, role: 'anon' }, schema)).toThrow(
      `Could not find the table 'api.${table}' in the schema cache`,
    );
  });
});

describe('identifiers', () => {
  test('are quoted, and NUL is refused', () => {
    expect(quoteIdentifier('a"b')).toBe('"a""b"');
    expect(() => quoteIdentifier('a\0b')).toThrow('NUL');
    expect(searchPath(['a,b', 'public'])).toBe('"a,b", "public"');
  });
});
