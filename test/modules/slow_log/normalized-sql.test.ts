import { expect, test } from 'vitest';
import { maskedPlan, normalizedSql } from '../../../src/modules/slow_log/normalized-sql.ts';

test.each([
  ['select "a1" from t1 where id = $1 and n = 17', 'select "a1" from t1 where id = $1 and n = ?'],
  [`select r.data->>'secret' from t limit 10`, 'select r.data->>? from t limit ?'],
  [`select E'a\\'b' || 'c''d', 1.5e-3`, 'select ? || ?, ?'],
  ['select "with ""quotes"" 12" from "s"."t2"', 'select "with ""quotes"" 12" from "s"."t2"'],
  ['select\n  1', 'select ?'],
])('%j is shown as %j', (sql, shown) => {
  expect(normalizedSql(sql)).toBe(shown);
});

test('a plan keeps its shape and costs, and has no values in its expressions', () => {
  const plan = [
    {
      Plan: { 'Node Type': 'Seq Scan', 'Relation Name': 't1', 'Total Cost': 8.5, Filter: `(a = 'x'::text)` },
    },
  ];
  expect(maskedPlan(plan)).toEqual([
    { Plan: { 'Node Type': 'Seq Scan', 'Relation Name': 't1', 'Total Cost': 8.5, Filter: '(a = ?::text)' } },
  ]);
});
