import { type ReadPlan, type RowForm, type RowShape, type RowTail, shownMedia } from '../plan/index.ts';
import type { RowHandler } from '../request/index.ts';
import type { ServerFeatures } from '../schema/index.ts';
import {
  Parameters,
  qualifiedName,
  quoteIdentifier,
  type RowSource,
  type Statement,
  type Step,
} from './statement.ts';
import { countedSql, rowsSql } from './rows.ts';

/** What becomes of the rows of a read. */
interface ShapeOptions {
  /** Members that are null are left out. */
  readonly stripped: boolean;
  /** Schema of PostGIS, for features. */
  readonly geoSchema?: string | undefined;
  /** No more rows than this come back, however many are counted. Not of `whole`. */
  readonly most?: number | undefined;
  /** What tells the number of rows when it is not that of the rows which are shown. */
  readonly total?: string | undefined;
  /** The one column whose values are shown instead of rows. */
  readonly values?: string | undefined;
  /** What comes with the rows. */
  readonly tail?: RowTail | undefined;
  /** The aggregate that makes something of the rows. */
  readonly handler?: RowHandler | undefined;
  /** Where the rows come from when it is not their table; its own values are bound first. */
  readonly source?: ((parameters: Parameters) => RowSource) | undefined;
}

/** What stands between two elements where `json_agg` builds an array. */
export const ELEMENT_SEPARATOR = ', \n ';

/** A read in the given shape. */
export function shapedSql(
  plan: ReadPlan,
  shape: RowShape,
  form: ShapeOptions = { stripped: false },
): Statement {
  const parameters = new Parameters();
  const source = form.source?.(parameters);
  const rows = rowsSql(plan, parameters, source);
  const most = shape === 'first' ? 1 : form.most;
  const bound = most === undefined ? '' : ` limit ${most}`;
  const { total = false, response = false, padded: isPadded = false } = form.tail ?? {};
  const shown = [
    shapeSql(shape, form),
    ...(response ? [RESPONSE] : []),
    ...(total ? [`(select ${COUNT} from (${countedSql(plan, parameters, source)}) c)::text`] : []),
    `${form.total ?? numberSql(shape, isPadded)}::text`,
  ];
  const from = isPadded ? `(select) o left join (${rows}) t on true` : `(${rows}) t`;
  const text = `${source?.prefix ?? ''}select ${shown.join(', ')} from ${from}${bound}`;
  return { text, values: parameters.values };
}

const COUNT = 'pg_catalog.count(*)';

/** The number of all rows. As a window it waits for the last of them: what stands beside it is read after that. */
function numberSql(shape: RowShape, isPadded = false): string {
  if (shape === 'whole' || shape === 'handled') return COUNT;
  return isPadded ? '(pg_catalog.count(t.*) over ())' : `(${COUNT} over ())`;
}

/** The number of all rows that a read would have without its range; at most `most`. */
export function totalSql(plan: ReadPlan, most?: number): Statement {
  const parameters = new Parameters();
  const rows = countedSql(plan, parameters);
  const bound = most === undefined ? '' : ` limit ${parameters.bind(String(most))}`;
  return { text: `select pg_catalog.count(*)::text from (${rows}${bound}) t`, values: parameters.values };
}

/** The planner's guess of that number, in the plan that it gives. */
export function guessSql(plan: ReadPlan, from?: ShapeOptions['source']): Statement {
  const parameters = new Parameters();
  const source = from?.(parameters);
  const rows = countedSql(plan, parameters, source);
  return { text: `explain (format json) ${source?.prefix ?? ''}${rows}`, values: parameters.values };
}

const RESPONSE = ['response.headers', 'response.status']
  .map((name) => `pg_catalog.current_setting('${name}', true)`)
  .join(', ');

/** A function without arguments, called; with what it left in `response.headers` and `response.status` at the end. */
export function callSql(name: readonly string[]): Statement {
  return { text: `select ${name.map(quoteIdentifier).join('.')}(), ${RESPONSE}`, values: [] };
}

/** What the statements before left in `response.headers` and `response.status`. */
export const RESPONSE_SETTINGS: Statement = { text: `select ${RESPONSE}`, values: [] };

/** The statement that gives rows in the form of a response; of a query plan, the one that asks how that would be run. */
export function formedStep(
  rows: ReadPlan,
  { media, shape, most, tail }: RowForm,
  {
    features,
    ...more
  }: Pick<ShapeOptions, 'source' | 'values' | 'total'> & { readonly features: ServerFeatures | undefined },
): Step {
  const { format, stripped, handler } = shownMedia(media);
  const geoSchema = format === 'geojson' ? features?.geoSchema : undefined;
  const statement = shapedSql(rows, shape, { stripped, geoSchema, handler, most, tail, ...more });
  if (media.plan) return { statement: explainSql(statement, media.plan.format, media.plan.options) };
  // Others are texts that are complete.
  return shape === 'columns' || shape === 'handled' ? { statement, described: true } : { statement };
}

/** How the database would run a statement; with `analyze`: how it ran. */
function explainSql(
  { text, values }: Statement,
  format: 'text' | 'json',
  options: readonly ExplainOption[],
): Statement {
  return { text: `explain (${[`format ${format}`, ...options].join(', ')}) ${text}`, values };
}

/** The words as they go into the statement. */
type ExplainOption = 'analyze' | 'verbose' | 'settings' | 'buffers' | 'wal';

function shapeSql(shape: RowShape, form: ShapeOptions): string {
  switch (shape) {
    case 'whole': {
      const isPlain = !form.stripped && !form.geoSchema && form.values === undefined;
      return `coalesce(pg_catalog.json_agg(${isPlain ? 't.*' : rowSql(form)}), '[]')::text`;
    }
    case 'first':
    case 'rows':
      return `${rowSql(form)}::text`;
    case 'columns':
      return 't.*';
    case 'handled':
      return handledSql(form);
  }
}

function handledSql({ handler, values }: ShapeOptions): string {
  if (!handler) throw new Error('rows to be handled have a handler');
  const row = values === undefined ? 't' : `t.${quoteIdentifier(values)}`;
  return `${qualifiedName(handler)}(${handler.table ? `t::${qualifiedName(handler.table)}` : row})`;
}

function rowSql({ stripped, geoSchema, values }: ShapeOptions): string {
  if (geoSchema !== undefined) return `${quoteIdentifier(geoSchema)}.st_asgeojson(t.*)::json`;
  const json =
    values === undefined
      ? 'pg_catalog.row_to_json(t.*)'
      : `coalesce(pg_catalog.to_json(t.${quoteIdentifier(values)}), 'null')`;
  return stripped ? `pg_catalog.json_strip_nulls(${json})` : json;
}
