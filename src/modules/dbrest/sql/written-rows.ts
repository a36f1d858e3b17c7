import type { Written, WrittenColumn } from '../plan/index.ts';
import { quoteIdentifier } from './identifier.ts';
import type { BoundValue, Parameters } from './statement.ts';

/** The rows of a body as something to select from, and the value of a column in one of them. */
export interface WrittenRows {
  readonly from: string;
  readonly value: (column: WrittenColumn) => string;
}

/** Alias of a row of the body. */
const WRITTEN = 'p';

/** Rows of a JSON body: PostgreSQL makes the values itself, so that they are exact. `first`: one row at most. */
export function writtenRows(
  { form, columns, defaults }: Written,
  { parameters, body, first }: { parameters: Parameters; body: BoundValue; first: boolean },
): WrittenRows {
  const json = parameters.bind(body);
  const isArray = form === 'array';
  const list = columns
    .map(({ member, type, isText }) => `${quoteIdentifier(member)} ${isText ? 'pg_catalog.text' : type}`)
    .join(', ');
  const value = ({ member, type, isText }: WrittenColumn): string => {
    return `${WRITTEN}.${quoteIdentifier(member)}${isText ? `::${type}` : ''}`;
  };
  if (!defaults) {
    const rows = `pg_catalog.${isArray ? 'json_to_recordset' : 'json_to_record'}(${json}) as ${WRITTEN}(${list})`;
    return { from: first && isArray ? `(select * from ${rows} limit 1) ${WRITTEN}` : rows, value };
  }
  const elements = isArray
    ? `(select * from pg_catalog.json_array_elements(${json})${first ? ' limit 1' : ''}) e(j)`
    : `(select ${json}::pg_catalog.json) e(j)`;
  return {
    from: `${elements} cross join lateral pg_catalog.json_to_record(e.j) as ${WRITTEN}(${list})`,
    value(column) {
      const { defaultSql } = column.column;
      if (defaultSql === undefined) return value(column);
      const isMissing = `(e.j -> ${parameters.bind(column.member)}::pg_catalog.text) is null`;
      return `case when ${isMissing} then ${defaultSql} else ${value(column)} end`;
    },
  };
}
