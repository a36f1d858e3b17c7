import { quoteIdentifier } from '../../../postgres/index.ts';
import type { Written, WrittenColumn } from '../plan/index.ts';
import { type BoundValue, Parameters, qualifiedName, type Statement } from './statement.ts';

/** The rows of a body as a `from` item, and the SQL of a column's value. */
export interface WrittenRows {
  readonly from: string;
  readonly value: (column: WrittenColumn) => string;
  /** The same without a default in place of what is missing. */
  readonly given: (column: WrittenColumn) => string;
}

/** Alias of a row of the body. */
const WRITTEN = 'p';

/** The body of a write, where its statement is built. */
interface WrittenFrom {
  readonly parameters: Parameters;
  readonly body: BoundValue;
  /** At most one row is read. */
  readonly first: boolean;
}

/** Reads the rows of a JSON body in SQL, so that values keep their exact form. */
export function writtenRows(
  { form, columns, defaults }: Written,
  { parameters, body, first }: WrittenFrom,
): WrittenRows {
  const json = parameters.bind(body);
  const isArray = form === 'array';
  const list = columns
    .map(({ member, type, isText }) => `${quoteIdentifier(member)} ${isText ? 'pg_catalog.text' : type}`)
    .join(', ');
  const given = ({ member, type, isText, through }: WrittenColumn): string => {
    const value = `${WRITTEN}.${quoteIdentifier(member)}`;
    return through ? `${qualifiedName(through)}(${value})` : `${value}${isText ? `::${type}` : ''}`;
  };
  if (!defaults) {
    const rows = `pg_catalog.${isArray ? 'json_to_recordset' : 'json_to_record'}(${json}) as ${WRITTEN}(${list})`;
    return {
      from: first && isArray ? `(select * from ${rows} limit 1) ${WRITTEN}` : rows,
      value: given,
      given,
    };
  }
  const elements = isArray
    ? `(select * from pg_catalog.json_array_elements(${json})${first ? ' limit 1' : ''}) e(j)`
    : `(select ${json}::pg_catalog.json) e(j)`;
  return {
    from: `${elements} cross join lateral pg_catalog.json_to_record(e.j) as ${WRITTEN}(${list})`,
    given,
    value(column) {
      const { defaultSql } = column.column;
      if (defaultSql === undefined) return given(column);
      const isMissing = `(e.j -> ${parameters.bind(column.member)}::pg_catalog.text) is null`;
      return `case when ${isMissing} then ${defaultSql} else ${given(column)} end`;
    },
  };
}

/**
 * The statement that finds the first element of a body whose key another one before it has, and the first one with null in its
 * key; both count from 1 and are null if there is none.
 */
export function unfitElementsSql(
  form: Written['form'],
  by: readonly WrittenColumn[],
  body: BoundValue,
): Statement {
  const parameters = new Parameters();
  const { from, given } = writtenRows(
    { form, columns: by, defaults: false },
    { parameters, body, first: false },
  );
  const names = by.map((_, i) => `k${i + 1}`);
  const keys = by.map((column, i) => `${given(column)} as ${names[i]}`).join(', ');
  const lacks = names.map((name) => `${name} is null`).join(' or ');
  const numbered = `select pg_catalog.row_number() over () as n, ${keys} from ${from}`;
  const counted = `select n, ${lacks} as lacks, pg_catalog.row_number() over (partition by ${names.join(', ')} order by n) as time from (${numbered}) e`;
  const first = (which: string): string => `(pg_catalog.min(n) filter (where ${which}))::pg_catalog.text`;
  return {
    text: `select ${first('time > 1 and not lacks')}, ${first('lacks')} from (${counted}) e`,
    values: parameters.values,
  };
}
