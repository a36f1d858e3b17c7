import { quoteIdentifier } from '../../../postgres/index.ts';
import type { Conflict, InsertPlan, WriteCondition, WrittenColumn } from '../plan/index.ts';
import { readSql } from './condition.ts';
import { hasVersionSql } from './row-version.ts';
import { type BoundValue, type Parameters, qualifiedName, ROWS, type Step } from './statement.ts';
import { collatedSql, equalSql, type WrittenRows, writtenRows } from './written-rows.ts';

/** The parameters of an insert. */
export interface InsertParts {
  /** The JSON of the rows. */
  readonly body: BoundValue;
  /** Merged rows are counted for `COUNT_UPDATES`. */
  readonly counted: boolean;
  readonly condition: WriteCondition | undefined;
}

/** The setting that counts merged rows during the transaction. */
const UPDATED = 'gw.updated';
const UPDATES = `coalesce(nullif(pg_catalog.current_setting('${UPDATED}', true), ''), '0')`;
/** Returns the number of rows that an upsert merged, and resets the count: another upsert may follow in the transaction. */
export const COUNT_UPDATES: Step = {
  statement: {
    text: `select n, pg_catalog.set_config('${UPDATED}', '', true) from (select ${UPDATES} as n offset 0) u`,
    values: [],
  },
};

export function insertSql(plan: InsertPlan, parts: InsertParts, parameters: Parameters): string {
  const { table, columns, form, conflict } = plan;
  const { body } = parts;
  const into = `insert into ${qualifiedName(table)} as ${ROWS}`;
  if (columns.length === 0) {
    const behind = conflict ? conflictSql(conflict, columns, { parts, parameters }) : '';
    if (form === 'object') return `${into} default values${behind}`;
    return `${into} select from pg_catalog.json_array_elements(${parameters.bind(body)})${behind}`;
  }
  const list = columns.map(({ column }) => quoteIdentifier(column.name)).join(', ');
  const { from, value, where } = insertedRows(plan, { parameters, body });
  const values = columns.map(value).join(', ');
  const behind = conflict ? conflictSql(conflict, columns, { parts, parameters }) : '';
  return `${into} (${list}) select ${values} from ${from}${where}${behind}`;
}

/** The rows of a body that are inserted. For PUT these are the rows with the key of the query. */
export function insertedRows(
  plan: InsertPlan,
  { parameters, body }: { parameters: Parameters; body: BoundValue },
): WrittenRows & { readonly where: string } {
  const { keyValues = [] } = plan;
  const rows = writtenRows(plan, { parameters, body, first: false });
  const matches = keyValues.map(({ column, value, read }) => {
    const given = collatedSql(rows.value(column), column, plan.table);
    return equalSql(column, given, readSql(parameters.bind(value), read));
  });
  return { ...rows, where: matches.length > 0 ? ` where ${matches.join(' and ')}` : '' };
}

function conflictSql(
  { columns, predicate, constraint, action }: Conflict,
  written: readonly WrittenColumn[],
  { parts, parameters }: { readonly parts: InsertParts; readonly parameters: Parameters },
): string {
  const partial = predicate === undefined ? '' : ` where ${predicate}`;
  const target =
    constraint === undefined
      ? `(${columns.map(quoteIdentifier).join(', ')})${partial} `
      : `on constraint ${quoteIdentifier(constraint)} `;
  const on = ` on conflict ${columns.length === 0 ? '' : target}do`;
  if (action === 'ignore' || written.length === 0) return `${on} nothing`;
  const names = written.map(({ column }) => quoteIdentifier(column.name));
  const set = names.map((name) => `${name} = excluded.${name}`).join(', ');
  const one = `pg_catalog.set_config('${UPDATED}', (${UPDATES}::integer + 1)::text, true)`;
  const [held] = hasVersionSql(parts.condition, parameters);
  if (!parts.counted) return `${on} update set ${set}`;
  // Only rows that are updated are counted.
  const where = held === undefined ? `${one} is not null` : `case when ${held} then ${one} is not null end`;
  return `${on} update set ${set} where ${where}`;
}
