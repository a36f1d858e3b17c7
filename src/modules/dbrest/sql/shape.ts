import { quoteIdentifier } from '../../../postgres/index.ts';
import { type ReadPlan, type RowForm, type RowShape, type RowTail, shownMedia } from '../plan/index.ts';
import type { RowHandler } from '../request/index.ts';
import type { ServerFeatures } from '../schema/index.ts';
import { versionText } from './condition.ts';
import {
  outputAlias,
  Parameters,
  qualifiedName,
  type RowSource,
  type Statement,
  type Step,
} from './statement.ts';
import { countedSql, rowsSql } from './rows.ts';

/** Options for the shape of a read's rows. */
interface ShapeOptions {
  /** Null members are omitted. */
  readonly stripped: boolean;
  /** Schema of PostGIS, for GeoJSON. */
  readonly geoSchema?: string | undefined;
  /** Most rows that are returned; the count includes the others. Not used for `whole`. */
  readonly most?: number | undefined;
  /** SQL for the number of rows, if it differs from that of the shown rows. */
  readonly total?: string | undefined;
  /** The column whose values are shown instead of rows. */
  readonly values?: string | undefined;
  /** Additional columns. */
  readonly tail?: RowTail | undefined;
  /** The media handler. */
  readonly handler?: RowHandler | undefined;
  /** The source of the rows other than a table; its values are bound first. */
  readonly source?: ((parameters: Parameters) => RowSource) | undefined;
}

/** The separator between elements in the output of `json_agg`. */
export const ELEMENT_SEPARATOR = ', \n ';

/** The statement of a read in the given shape. */
export function shapedSql(
  plan: ReadPlan,
  shape: RowShape,
  form: ShapeOptions = { stripped: false },
): Statement {
  const parameters = new Parameters();
  const source = form.source?.(parameters);
  const { total = false, response = false, padded: isPadded = false, version } = form.tail ?? {};
  const isVersioned = version !== undefined && !source;
  const rows = isVersioned
    ? versionedSql(plan, parameters, version)
    : `(${rowsSql(plan, parameters, source)}) t`;
  const most = shape === 'first' ? 1 : form.most;
  const bound = most === undefined ? '' : ` limit ${most}`;
  const shown = [
    shapeSql(shape, form),
    ...(version === undefined ? [] : [isVersioned ? shownVersion(shape) : (source?.version ?? 'null')]),
    ...(response ? [RESPONSE] : []),
    ...(total ? [`(select ${COUNT} from (${countedSql(plan, parameters, source)}) c)::text`] : []),
    `${form.total ?? numberSql(shape, isPadded)}::text`,
  ];
  const from = isPadded ? `(select) o left join ${rows} on true` : rows;
  const text = `${source?.prefix ?? ''}select ${shown.join(', ')} from ${from}${bound}`;
  return { text, values: parameters.values };
}

/** The rows as `t`, and beside them the version of each as `s.v`. */
function versionedSql(plan: ReadPlan, parameters: Parameters, version: string): string {
  const column = plan.table.columns.get(version) ?? { name: version, type: 'pg_catalog.xid' };
  const value = { of: { kind: 'column' as const, column }, path: [], type: column.type };
  const names = plan.outputs.flatMap((output) =>
    output.kind === 'all' ? [...plan.table.columns.keys()] : [output.name],
  );
  const outputs = [{ kind: 'value' as const, name: 'v', value }, ...plan.outputs];
  const shown = names.map((name, i) => `s.${outputAlias(i)} as ${quoteIdentifier(name)}`).join(', ');
  const aliases = names.map((_name, i) => outputAlias(i)).join(', ');
  const rows = rowsSql({ ...plan, outputs }, parameters);
  return `(${rows}) s(v, ${aliases}) cross join lateral (select ${shown}) t`;
}

function shownVersion(shape: RowShape): string {
  return shape === 'whole' ? `pg_catalog.max(${versionText('s.v')})` : versionText('s.v');
}

const COUNT = 'pg_catalog.count(*)';

/**
 * The number of all rows. As a window function it is known only after the last row, so columns beside it are evaluated
 * after all rows.
 */
function numberSql(shape: RowShape, isPadded = false): string {
  if (shape === 'whole' || shape === 'handled' || shape === 'counted') return COUNT;
  return isPadded ? '(pg_catalog.count(t.*) over ())' : `(${COUNT} over ())`;
}

/** The statement that counts the rows of a read without its range, up to `most`. */
export function totalSql(plan: ReadPlan, most?: number): Statement {
  const parameters = new Parameters();
  const rows = countedSql(plan, parameters);
  const bound = most === undefined ? '' : ` limit ${parameters.bind(String(most))}`;
  return { text: `select pg_catalog.count(*)::text from (${rows}${bound}) t`, values: parameters.values };
}

/** The statement that returns the planner's estimate of the number of rows. */
export function guessSql(plan: ReadPlan, from?: ShapeOptions['source']): Statement {
  const parameters = new Parameters();
  const source = from?.(parameters);
  const rows = countedSql(plan, parameters, source);
  return { text: `explain (format json) ${source?.prefix ?? ''}${rows}`, values: parameters.values };
}

const RESPONSE = ['response.headers', 'response.status']
  .map((name) => `pg_catalog.current_setting('${name}', true)`)
  .join(', ');

/** The statement that calls a function without arguments and then returns the response settings. */
export function callSql(name: readonly string[]): Statement {
  return { text: `select ${name.map(quoteIdentifier).join('.')}(), ${RESPONSE}`, values: [] };
}

/** The statement that returns the response settings. */
export const RESPONSE_SETTINGS: Statement = { text: `select ${RESPONSE}`, values: [] };

/** The main statement for a media type; for a query plan its `explain`. */
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
  // The other shapes are single texts and need no column types.
  return shape === 'columns' || shape === 'handled' ? { statement, described: true } : { statement };
}

/** `explain` of a statement. */
function explainSql(
  { text, values }: Statement,
  format: 'text' | 'json',
  options: readonly ExplainOption[],
): Statement {
  return { text: `explain (${[`format ${format}`, ...options].join(', ')}) ${text}`, values };
}

const EXPLAIN = /^explain \(([^)]*)\) /;

/**
 * The statement that returns the planner's estimate for another one, in one row. An `explain` that executes a statement
 * stands for that statement; for an `explain` that executes nothing the result is `undefined`.
 */
export function estimateOf({ text, values }: Statement): Statement | undefined {
  const [prefix = '', options] = EXPLAIN.exec(text) ?? [];
  if (options !== undefined && !options.split(', ').includes('analyze')) return undefined;
  return { text: `explain (format json) ${text.slice(prefix.length)}`, values };
}

/** Options in the words of SQL. */
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
    case 'counted':
      return `''`;
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
