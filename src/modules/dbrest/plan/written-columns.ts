import { noWrittenColumn } from '../fault/index.ts';
import type { WriteQuery, WrittenBody } from '../request/index.ts';
import type { Column, Table, TableName } from '../schema/index.ts';
import { baseOf } from './condition.ts';
import type { Context } from './node.ts';
import { unknownColumn } from './value.ts';

/** A column and the member of the body that holds its values. */
export interface WrittenColumn {
  readonly column: Column;
  /** Name of the member. */
  readonly member: string;
  /** Type of the value. For a domain its base type, because the domain may reject a NULL that a default replaces. */
  readonly type: string;
  /** The value is passed as text and cast. */
  readonly isText?: boolean;
  /** The schema of the operator `=` of its type, which need not be in the search path. */
  readonly equality?: string;
  /** The value is JSON, from which this function makes that of the column. */
  readonly through?: TableName;
}

interface Member {
  readonly member: string;
  /** All values of the body are texts. */
  readonly isText?: boolean | undefined;
}

/** `(3)` of `vector(3)`. */
const MODIFIERS = /\([\d,]+\)$/;

/** Plans how the values of a column are read from a member. */
export function writtenColumn(
  column: Column,
  { member, isText }: Member,
  { known }: Pick<Context, 'known'>,
): WrittenColumn {
  const through = known.representations?.get(column.type)?.written;
  const type = baseOf(column.type, known);
  const schema = known.equalities?.get(type.replace(MODIFIERS, ''));
  const equality = schema === undefined ? {} : { equality: schema };
  if (through) return { column, member, type: 'json', through, ...equality };
  return { column, member, type, ...(isText && /^jsonb?$/.test(type) && { isText }), ...equality };
}

/** The columns of a body that are written. */
export interface WrittenColumns {
  /** A single row, or an array of rows. */
  readonly form: 'object' | 'array';
  readonly columns: readonly WrittenColumn[];
  /** Columns that a row of the body lacks get their default instead of NULL. */
  readonly defaults: boolean;
}

/** The parts of a request from which a write is planned. */
export interface WriteSource {
  readonly query: WriteQuery;
  readonly body: WrittenBody;
  /** Missing columns get their default. */
  readonly defaults: boolean;
}

/** Throws 42703 if a column of a key, which `on_conflict` may name, does not exist. */
export function checkKey(key: readonly string[], table: Table, context: Context): void {
  for (const name of key) {
    if (!table.columns.has(name)) throw unknownColumn({ name, instead: 'constraint' }, table, context);
  }
}

/** Plans the columns of a body that are written. Throws PGRST204. */
export function writtenColumns(
  { query, body, defaults }: WriteSource,
  table: Table,
  context: Context,
): WrittenColumns {
  const names = [...new Set(query.columns ?? body.keys)];
  const columns = names.map((name, i) => {
    const column = table.columns.get(name);
    if (!column) throw noWrittenColumn(table.name, name);
    // A column that the lines lack gets a number after their last one, which has no values.
    const number = body.keys.lastIndexOf(name) + 1 || body.keys.length + 1 + i;
    const member = body.numbered ? String(number) : name;
    return writtenColumn(column, { member, isText: body.isText }, context);
  });
  return { form: body.kind, columns, defaults: defaults && query.columns !== undefined };
}
