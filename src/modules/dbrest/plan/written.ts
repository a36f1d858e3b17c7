import type { Column, TableName } from '../schema/index.ts';
import { baseOf } from './condition.ts';
import type { Context } from './node.ts';

/** A column and the member of the body that holds its values. */
export interface WrittenColumn {
  readonly column: Column;
  /** Name of the member. */
  readonly member: string;
  /** Type of the value. For a domain its base type, because the domain may reject a NULL that a default replaces. */
  readonly type: string;
  /** The value is passed as text and cast. */
  readonly isText?: boolean;
  /** The value is JSON, from which this function makes that of the column. */
  readonly through?: TableName;
}

interface Member {
  readonly member: string;
  /** All values of the body are texts. */
  readonly isText?: boolean | undefined;
}

/** How the values of a column are read from a member. */
export function writtenColumn(
  column: Column,
  { member, isText }: Member,
  { known }: Pick<Context, 'known'>,
): WrittenColumn {
  const through = known.representations?.get(column.type)?.written;
  if (through) return { column, member, type: 'json', through };
  const type = baseOf(column.type, known);
  return { column, member, type, ...(isText && /^jsonb?$/.test(type) && { isText }) };
}
