import type { DbrestConfig } from '../directives/index.ts';
import { callWork } from './call.ts';
import { readWork } from './read.ts';
import type { Step } from './statement.ts';
import type { RunPlan, Work } from './transaction.ts';
import { writeWork } from './write.ts';

export { estimateFor } from './estimate.ts';
export { changedRowsSql, followedRowsSql, countedTotal } from './read.ts';
export { countedSql } from './rows.ts';
export {
  searchPath,
  type SharedView,
  compileTransaction,
  rollsBack,
  type RunPlan,
  type Statements,
  transactionEnds,
  type WithinTransaction,
  type Work,
} from './transaction.ts';
export { ELEMENT_SEPARATOR, shapedSql, totalSql } from './shape.ts';
export {
  arrayLiteral,
  BEGIN,
  BEGIN_READ_ONLY,
  type BoundValue,
  Parameters,
  ROLLBACK,
  type Statement,
  type Step,
} from './statement.ts';

/** Writes the statements of a plan. */
export function workOf(plan: RunPlan, config: DbrestConfig): Work {
  switch (plan.kind) {
    case 'read':
      return readWork(plan, config);
    case 'write':
      return writeWork(plan, config);
    case 'call':
      return callWork(plan);
    case 'describe':
      return DESCRIPTION;
  }
}

/** A description reads no rows, but the role is set and `dbrest_pre_request` runs, so both can reject the request. */
const NOTHING: Step = { statement: { text: 'select 1', values: [] } };
const DESCRIPTION: Work = { counts: [], main: NOTHING, readOnly: true, repeatable: true, contained: true };
