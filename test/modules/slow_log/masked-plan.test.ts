import { expect, test } from 'vitest';
import { maskedPlan } from '../../../src/modules/slow_log/slow-line.ts';

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
