import { quoteIdentifier } from '../../../postgres/index.ts';
import { type WrittenColumns, type WrittenColumn, type ReadPlan, valuesRead } from '../plan/index.ts';
import type { Table } from '../schema/index.ts';
import { type BoundValue, type Parameters, qualifiedName, ROWS } from './statement.ts';

/** The rows of a body as a `from` item, and the SQL of a column's value. */
export interface WrittenRows {
  readonly from: string;
  readonly value: (column: WrittenColumn) => string;
}

/** Alias of a row of the body. */
const WRITTEN = 'p';

/** The body of a write as a statement reads it. */
interface WrittenFrom {
  readonly parameters: Parameters;
  readonly body: BoundValue;
  /** At most one row is read. */
  readonly first: boolean;
}

/** The alias of a row of the body with the types of its members. */
export function writtenAlias(columns: readonly WrittenColumn[]): string {
  const list = columns.map(
    ({ member, type, isText }) => `${quoteIdentifier(member)} ${isText ? 'pg_catalog.text' : type}`,
  );
  return `${WRITTEN}(${list.join(', ')})`;
}

/** The value of a column in such a row; a missing value is not replaced by a default. */
export function givenSql({ member, type, isText, through }: WrittenColumn): string {
  const value = `${WRITTEN}.${quoteIdentifier(member)}`;
  return through ? `${qualifiedName(through)}(${value})` : `${value}${isText ? `::${type}` : ''}`;
}

/** The comparison of a value with another one of the column, by the operator of its type. */
export function equalSql({ equality }: WrittenColumn, value: string, other: string): string {
  const operator = equality === undefined ? '=' : `operator(${quoteIdentifier(equality)}.=)`;
  return `${value} ${operator} ${other}`;
}

/** The condition that the rows of a table have the keys of rows of the body. */
export function sameKeysSql(by: readonly WrittenColumn[]): string {
  return by
    .map((key) => equalSql(key, `${ROWS}.${quoteIdentifier(key.column.name)}`, givenSql(key)))
    .join(' and ');
}

/** The value of a key column of a row of the body, with the collation of the column, so that both compare alike. */
export function collatedSql(value: string, { column }: WrittenColumn, table: Table): string {
  const own = `${ROWS}.${quoteIdentifier(column.name)}`;
  return `coalesce(${value}, (select ${own} from ${qualifiedName(table)} as ${ROWS} where false))`;
}

/** Reads the rows of a JSON body in SQL, so that values keep their exact form. */
export function writtenRows(
  { form, columns, defaults }: WrittenColumns,
  { parameters, body, first }: WrittenFrom,
): WrittenRows {
  const json = parameters.bind(body);
  const isArray = form === 'array';
  const alias = writtenAlias(columns);
  if (!defaults) {
    const rows = `pg_catalog.${isArray ? 'json_to_recordset' : 'json_to_record'}(${json}) as ${alias}`;
    return {
      from: first && isArray ? `(select * from ${rows} limit 1) ${WRITTEN}` : rows,
      value: givenSql,
    };
  }
  const elements = isArray
    ? `(select * from pg_catalog.json_array_elements(${json})${first ? ' limit 1' : ''}) e(j)`
    : `(select ${json}::pg_catalog.json) e(j)`;
  return {
    from: `${elements} cross join lateral pg_catalog.json_to_record(e.j) as ${alias}`,
    value: (column) => defaultedSql(column, parameters),
  };
}

/** The value of a column, or its default if the row, whose JSON is `e.j`, lacks it. */
export function defaultedSql(column: WrittenColumn, parameters: Parameters): string {
  const { defaultSql } = column.column;
  if (defaultSql === undefined) return givenSql(column);
  const isMissing = `(e.j -> ${parameters.bind(column.member)}::pg_catalog.text) is null`;
  return `case when ${isMissing} then ${defaultSql} else ${givenSql(column)} end`;
}

/** Returns whether the number of shown rows differs from that of written rows. */
export function showsOthers({ grouped, embeds }: ReadPlan): boolean {
  return grouped || embeds.some(({ inner }) => inner);
}

/** The columns of `returning` that the response needs; the role may lack the privilege to read others. */
export function returningSql(rows: ReadPlan): string {
  const names = neededColumns(rows);
  if (!names) return `${ROWS}.*`;
  // Each row must return something.
  return names.size === 0 ? '1' : columnsSql([...names]);
}

/** The columns that the response shows of written rows, or all of them; `1` if it shows none. */
export function shownColumns(rows: ReadPlan, table: Table): string {
  const names = neededColumns(rows) ?? table.columns.keys();
  return columnsSql([...names]) || '1';
}

/** The columns of the written rows by name. */
export function columnsSql(names: readonly string[]): string {
  return names.map((name) => `${ROWS}.${quoteIdentifier(name)}`).join(', ');
}

/** The needed columns; `undefined` if the whole row is needed. */
function neededColumns(rows: ReadPlan): Set<string> | undefined {
  const names = new Set<string>();
  const { outputs, embeds } = rows;
  if (outputs.some(({ kind }) => kind === 'all')) return undefined;
  for (const { of } of valuesRead(rows)) {
    if (of.kind === 'computed') return undefined;
    names.add(of.column.name);
  }
  for (const { by } of embeds) {
    if (!('pairs' in by)) return undefined;
    for (const [here] of by.pairs) names.add(here);
  }
  return names;
}
