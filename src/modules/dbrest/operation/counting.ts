import type { CountKind } from '../headers/index.ts';
import type { ReadPlan } from '../plan/index.ts';
import type { Results, Step } from '../session/index.ts';
import { guessSql, totalSql } from '../sql/index.ts';

/** Up to so many rows an estimate counts, unless `dbrest_max_rows` says. */
const COUNTED_ROWS = 1_000;

/** Statements that find out how many rows there are in all, and how to read what they gave. */
export interface Counting {
  readonly steps: readonly Step[];
  /** `results`: those of the steps. */
  total(results: Results): number | undefined;
}

const NOT: Counting = { steps: [], total: () => undefined };

/** `Prefer: count=…`. */
export function counting(kind: CountKind | undefined, plan: ReadPlan, maxRows = COUNTED_ROWS): Counting {
  switch (kind) {
    case undefined:
      return NOT;
    case 'exact':
      return { steps: [{ statement: totalSql(plan) }], total: ([counted]) => Number(counted?.[0]) };
    case 'planned':
      return { steps: [{ statement: guessSql(plan) }], total: ([guess]) => guessed(guess?.[0]) };
    case 'estimated':
      return {
        steps: [{ statement: totalSql(plan, maxRows + 1) }, { statement: guessSql(plan) }],
        total([counted, guess]) {
          const rows = Number(counted?.[0]);
          return rows > maxRows ? Math.max(rows, guessed(guess?.[0])) : rows;
        },
      };
  }
}

/** The number of rows that the planner expects, of what `guessSql` gave. */
export function guessed(explained: string | null | undefined): number {
  const [{ Plan: plan }] = JSON.parse(explained ?? '') as [{ Plan: { 'Plan Rows': number } }];
  return plan['Plan Rows'];
}
