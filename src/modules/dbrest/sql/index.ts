import { quoteIdentifier } from '../../../postgres/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { isInert, type PlannedRead, type ReadPlan, shownMedia } from '../plan/index.ts';
import { type CountKind, rowLimitOf } from '../request/index.ts';
import type { Followed } from '../schema/index.ts';
import { callWork } from './call.ts';
import { nodeSql } from './rows.ts';
import { formedStep, guessSql, totalSql } from './shape.ts';
import { Parameters, qualifiedName, ROWS, type Statement, type Step } from './statement.ts';
import type { RunPlan, Work } from './transaction.ts';
import { writeWork } from './write.ts';

export { estimateFor } from './estimate.ts';
export { countedSql } from './rows.ts';
export { statementComment } from './statement-comment.ts';
export {
  searchPath,
  type SharedView,
  compileTransaction,
  READ_ONLY_AT,
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

/** The statements of a read. */
function readWork({ request, rows, form, preferences }: PlannedRead, config: DbrestConfig): Work {
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

/** Alias of the keys that have changed. */
const KEYS = 'k';

/**
 * The rows of a followed read, each as two texts: its key, as the triggers announce it, and its JSON. One row more than
 * `mostRows` shows that there are too many.
 */
export function followedRowsSql(plan: ReadPlan, { key }: Followed, mostRows: number): Statement {
  const parameters = new Parameters();
  const rows = keyedSql(plan, { key, parameters });
  return { text: `select * from (${rows}) t limit ${mostRows + 1}`, values: parameters.values };
}

/** The same for the rows with these keys, wherever they are in the order. `keys` is a JSON array of announced keys. */
export function changedRowsSql(plan: ReadPlan, { key }: Followed, keys: string): Statement {
  const parameters = new Parameters();
  const columns = key.map(({ announced, type }) => `${quoteIdentifier(announced)} ${type}`);
  const pairs = key.map(
    ({ announced, own }) => `${ROWS}.${quoteIdentifier(own)} = ${KEYS}.${quoteIdentifier(announced)}`,
  );
  const changed = `pg_catalog.jsonb_to_recordset(${parameters.bind(keys)}::pg_catalog.jsonb)`;
  const source = `${qualifiedName(plan.table)} ${ROWS} join ${changed} ${KEYS}(${columns.join(', ')}) on ${pairs.join(' and ')}`;
  const { limit: _limit, ...whole } = plan;
  const text = keyedSql({ ...whole, offset: 0, sorts: [] }, { key, parameters, source });
  return { text, values: parameters.values };
}

interface KeyedSelect {
  readonly key: Followed['key'];
  readonly parameters: Parameters;
  readonly source?: string;
}

function keyedSql(plan: ReadPlan, { key, parameters, source }: KeyedSelect): string {
  const members = key.map(
    ({ announced, own }) => `${parameters.bind(announced)}::pg_catalog.text, ${ROWS}.${quoteIdentifier(own)}`,
  );
  // In the form of the triggers: both texts are those of jsonb, so that they can be compared.
  const keyText = `pg_catalog.jsonb_build_object(${members.join(', ')})::pg_catalog.text as key`;
  const shown = (outputs: string): string =>
    `${keyText}, (select pg_catalog.row_to_json(o.*) from (select ${outputs}) o)::pg_catalog.text as row`;
  return nodeSql(
    plan,
    { relation: ROWS, shown, ...(source !== undefined && { source }) },
    { parameters, aliases: 0 },
  );
}
