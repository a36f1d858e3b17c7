import type { Written } from '../plan/index.ts';
import type { Column, Table } from '../schema/index.ts';
import { qualifiedName, quoteIdentifier } from './identifier.ts';
import type { BoundValue, Parameters } from './statement.ts';

/** The rows of a body as something to select from, and the value of a column in one of them. */
export interface WrittenRows {
  readonly from: string;
  readonly value: (column: Column) => string;
}

/** Alias of a row of the body. */
const WRITTEN = 'p';

/**
 * Rows of a JSON body with the types of the table; PostgreSQL makes the values itself, so that they are exact. `first`: one
 * row at most.
 */
export function writtenRows(
  written: Written,
  table: Table,
  { parameters, body, first }: { parameters: Parameters; body: BoundValue; first: boolean },
): WrittenRows {
  const json = parameters.bind(body);
  const isArray = written.form === 'array';
  const value = ({ name }: Column): string => `${WRITTEN}.${quoteIdentifier(name)}`;
  if (!written.defaults) {
    const rows = typedRows(written, table, { json, isSet: isArray });
    return { from: first && isArray ? `(select * from ${rows} limit 1) ${WRITTEN}` : rows, value };
  }
  const elements = isArray
    ? `(select * from pg_catalog.json_array_elements(${json})${first ? ' limit 1' : ''}) e(j)`
    : `(select ${json}::pg_catalog.json) e(j)`;
  const rows = typedRows(written, table, { json: 'e.j', isSet: false });
  return {
    from: `${elements} cross join lateral ${rows}`,
    value(column) {
      if (column.defaultSql === undefined) return value(column);
      const member = `e.j -> ${parameters.bind(column.name)}::pg_catalog.text`;
      return `case when ${member} is null then ${column.defaultSql} else ${value(column)} end`;
    },
  };
}

/** As rows of the table, or with the types that the plan names. */
function typedRows(
  { columns, types }: Written,
  table: Table,
  { json, isSet }: { json: string; isSet: boolean },
): string {
  if (!types) {
    const populate = isSet ? 'json_populate_recordset' : 'json_populate_record';
    return `pg_catalog.${populate}(null::${qualifiedName(table)}, ${json}) ${WRITTEN}`;
  }
  const list = columns.map(({ name }, i) => `${quoteIdentifier(name)} ${types[i]}`).join(', ');
  return `pg_catalog.${isSet ? 'json_to_recordset' : 'json_to_record'}(${json}) as ${WRITTEN}(${list})`;
}
