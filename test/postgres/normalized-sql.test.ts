import { expect, test } from 'vitest';
import { normalizedSql } from '../../src/postgres/normalized-sql.ts';

test.each([
  ['select "a1" from t1 where id = $1 and n = 17', 'select "a1" from t1 where id = $1 and n = ?'],
  [`select r.data->>'secret' from t limit 10`, 'select r.data->>? from t limit ?'],
  [`select E'a\\'b' || 'c''d', 1.5e-3`, 'select ? || ?, ?'],
  ['select "with ""quotes"" 12" from "s"."t2"', 'select "with ""quotes"" 12" from "s"."t2"'],
  ['select\n  1', 'select ?'],
  [`select "it's" from t where a = 'secret'`, `select "it's" from t where a = ?`],
  [`select 'a E' , 'secret', E'\\\\', 'secret'`, 'select ? , ?, ?, ?'],
  ['select $$secret$$, $q$it $$ is secret$q$, $1', 'select ?, ?, $1'],
  [`select U&'secret', X'1F', b'101', N'secret'`, 'select ?, ?, ?, ?'],
  ["/*request_id='secret'*/ select 1 -- secret\nfrom t", 'select ? from t'],
  [
    `where a = any ('{secret,"two secrets"}'::text[]) and b = array['secret', '2']`,
    'where a = any (?::text[]) and b = array[?, ?]',
  ],
  ['where n > -0x1F and m < 1_000.5e+10', 'where n > -? and m < ?'],
  [`select 'secret without an end`, 'select ?'],
])('%j is shown as %j', (sql, shown) => {
  expect(normalizedSql(sql)).toBe(shown);
});
