import type { ReadPlan } from '../plan/index.ts';
import { quoteIdentifier } from './identifier.ts';
import { countedSql, rowsSql } from './read-sql.ts';
import type { Statement } from './statement.ts';
import { Parameters } from './statement.ts';
import type { RowSource } from './writing.ts';

/**
 * How the rows of a read come back. In each, the last column is the number of all rows (of this answer, not of the table):
 * `whole`: one row, the JSON array as one text; `first`: the first row as JSON; `rows`: one JSON text per row;
 * `columns`: the columns themselves.
 */
export type AnswerShape = 'whole' | 'first' | 'rows' | 'columns';

/** What becomes of the rows of an answer. */
export interface RowForm {
  /** Members that are null are left out. */
  readonly stripped: boolean;
  /** Schema of PostGIS, for features. */
  readonly geoSchema?: string | undefined;
  /** No more rows than this come back, however many are counted. Not of `whole`. */
  readonly most?: number | undefined;
  /** What tells the number of rows when it is not that of the rows which are shown. */
  readonly total?: string | undefined;
  /** Where the rows come from when it is not their table; its own values are bound first. */
  readonly source?: ((parameters: Parameters) => RowSource) | undefined;
}

/** What stands between two elements where `json_agg` builds an array. */
export const ELEMENT_SEPARATOR = ', \n ';

const ALL = '(pg_catalog.count(*) over ())';

/** A read in the given shape. */
export function answerSql(
  plan: ReadPlan,
  shape: AnswerShape,
  form: RowForm = { stripped: false },
): Statement {
  const parameters = new Parameters();
  const source = form.source?.(parameters);
  const rows = rowsSql(plan, parameters, source);
  const most = shape === 'first' ? 1 : form.most;
  const bound = most === undefined ? '' : ` limit ${most}`;
  return {
    text: `${source?.prefix ?? ''}${shapeSql(shape, form)} from (${rows}) t${bound}`,
    values: parameters.values,
  };
}

/** The number of all rows that a read would have without its range; at most `most`. */
export function totalSql(plan: ReadPlan, most?: number): Statement {
  const parameters = new Parameters();
  const rows = countedSql(plan, parameters);
  const bound = most === undefined ? '' : ` limit ${parameters.bind(String(most))}`;
  return { text: `select pg_catalog.count(*)::text from (${rows}${bound}) t`, values: parameters.values };
}

/** The planner's guess of that number, in the plan that it gives. */
export function guessSql(plan: ReadPlan): Statement {
  const parameters = new Parameters();
  return { text: `explain (format json) ${countedSql(plan, parameters)}`, values: parameters.values };
}

const RESPONSE = ['response.headers', 'response.status']
  .map((name) => `pg_catalog.current_setting('${name}', true)`)
  .join(', ');

/** A function without arguments, called; with what it left in `response.headers` and `response.status` at the end. */
export function callSql(name: readonly string[]): Statement {
  return { text: `select ${name.map(quoteIdentifier).join('.')}(), ${RESPONSE}`, values: [] };
}

/** What the statements before left in `response.headers` and `response.status`. */
export function responseSettingsSql(): Statement {
  return { text: `select ${RESPONSE}`, values: [] };
}

/** How the database would run a statement; with `analyze`: how it ran. */
export function explainSql(
  { text, values }: Statement,
  format: 'text' | 'json',
  options: readonly ExplainOption[],
): Statement {
  return { text: `explain (${[`format ${format}`, ...options].join(', ')}) ${text}`, values };
}

/** The words as they go into the statement. */
export type ExplainOption = 'analyze' | 'verbose' | 'settings' | 'buffers' | 'wal';

function shapeSql(shape: AnswerShape, form: RowForm): string {
  switch (shape) {
    case 'whole': {
      const array =
        form.stripped || form.geoSchema ? `pg_catalog.json_agg(${rowSql(form)})` : 'pg_catalog.json_agg(t.*)';
      return `select coalesce(${array}, '[]')::text, ${form.total ?? 'pg_catalog.count(*)'}::text`;
    }
    case 'first':
    case 'rows':
      return `select ${rowSql(form)}::text, ${form.total ?? ALL}::text`;
    case 'columns':
      return `select t.*, ${form.total ?? ALL}::text`;
  }
}

function rowSql({ stripped, geoSchema }: RowForm): string {
  if (geoSchema !== undefined) return `${quoteIdentifier(geoSchema)}.st_asgeojson(t.*)::json`;
  return stripped
    ? 'pg_catalog.json_strip_nulls(pg_catalog.row_to_json(t.*))'
    : 'pg_catalog.row_to_json(t.*)';
}
