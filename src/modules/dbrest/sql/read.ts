import { type DbrestConfig, rowLimitOf } from '../directives/index.ts';
import { isInert, type PlannedRead, type ReadPlan, shownMedia } from '../plan/index.ts';
import type { CountKind } from '../request/index.ts';
import { formedStep, guessSql, totalSql } from './shape.ts';
import type { Step } from './statement.ts';
import type { Work } from './transaction.ts';

/** The statements of a read. */
export function readWork({ request, rows, form, preferences }: PlannedRead, config: DbrestConfig): Work {
  const { media } = form;
  const { features } = request.head;
  const isQuiet = !config.preRequest && !shownMedia(media).handler && isInert(rows);
  return {
    counts: media.plan
      ? []
      : countSteps(preferences.count, rows, rowLimitOf(config.maxRows, request.head.resource.name)),
    main: formedStep(rows, form, { features }),
    readOnly: true,
    repeatable: true,
    contained: true,
    leaves: isQuiet ? 'nothing' : 'settings',
  };
}

/** Rows that `count=estimated` counts exactly without `dbrest_max_rows`. */
const COUNTED_ROWS = 1_000;

/** The statements for `Prefer: count=…`. */
function countSteps(kind: CountKind | undefined, rows: ReadPlan, maxRows = COUNTED_ROWS): readonly Step[] {
  switch (kind) {
    case undefined:
      return [];
    case 'exact':
      return [{ statement: totalSql(rows) }];
    case 'planned':
      return [{ statement: guessSql(rows) }];
    case 'estimated':
      return [{ statement: totalSql(rows, maxRows + 1) }, { statement: guessSql(rows) }];
  }
}

/** The total from the results of the count statements. */
export function countedTotal(
  kind: CountKind | undefined,
  [first, second]: readonly (readonly (string | null)[] | undefined)[],
  maxRows = COUNTED_ROWS,
): number | undefined {
  switch (kind) {
    case undefined:
      return undefined;
    case 'exact':
      return Number(first?.[0]);
    case 'planned':
      return guessed(first?.[0]);
    case 'estimated': {
      const rows = Number(first?.[0]);
      return rows > maxRows ? Math.max(rows, guessed(second?.[0])) : rows;
    }
  }
}

/** The planner's estimate in the result of `guessSql`. */
function guessed(explained: string | null | undefined): number {
  const [{ Plan: plan }] = JSON.parse(explained ?? '') as [{ Plan: { 'Plan Rows': number } }];
  return plan['Plan Rows'];
}
