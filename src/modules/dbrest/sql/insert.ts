import { quoteIdentifier } from '../../../postgres/index.ts';
import type { Conflict, InsertPlan, WriteCondition, WrittenColumn, WritePlan } from '../plan/index.ts';
import { readSql, hasVersionSql } from './condition.ts';
import { type BoundValue, type Parameters, qualifiedName, ROWS, type Step, hiddenName } from './statement.ts';
import {
  collatedSql,
  equalSql,
  type WrittenRows,
  writtenRows,
  givenSql,
  sameKeysSql,
} from './written-rows.ts';

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
/** Returns the number of rows that an upsert merged, and resets the count for another upsert in the transaction. */
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

/* A partial upsert lacks a column that an insert needs: existing rows are updated, the insert of the others fails. */

interface MergeParts {
  readonly body: BoundValue;
}

/** The columns by which a partial upsert finds the rows that it updates; `undefined` for every other write. */
export function mergedBy(plan: WritePlan): readonly WrittenColumn[] | undefined {
  return plan.kind === 'insert' ? plan.conflict?.by : undefined;
}

/** The update of the rows that exist. */
export function mergeSql(plan: InsertPlan, { body }: MergeParts, parameters: Parameters): string {
  const by = mergedBy(plan) ?? [];
  const { from, value } = writtenRows(plan, { parameters, body, first: false });
  const others = plan.columns.filter((column) => !by.includes(column));
  const set = (others.length > 0 ? others : by)
    .map((written) => `${quoteIdentifier(written.column.name)} = ${value(written)}`)
    .join(', ');
  return `update ${qualifiedName(plan.table)} as ${ROWS} set ${set} from ${from} where ${sameKeysSql(by)}`;
}

const keyName = (i: number): string => hiddenName(`key ${i + 1}`);

/** The keys of the updated rows, in the `returning` of the update: `othersSql` inserts the rows with other keys. */
export function keysReturned(plan: WritePlan): readonly string[] {
  return (mergedBy(plan) ?? []).map(
    ({ column }, i) => `${ROWS}.${quoteIdentifier(column.name)} as ${keyName(i)}`,
  );
}

interface OthersScope {
  readonly parameters: Parameters;
  /** The name of the update. */
  readonly updated: string;
}

/**
 * The insert of the rows that the update has not found, as a further item of its `with`. PostgreSQL refuses it, because
 * a column or the privilege to insert is missing. A row that another transaction inserts meanwhile is refused, too.
 */
export function othersSql(
  plan: WritePlan,
  { body }: MergeParts,
  { parameters, updated }: OthersScope,
): string {
  const by = mergedBy(plan);
  if (!by || plan.kind !== 'insert' || !plan.conflict) return '';
  const { from, value } = writtenRows(plan, { parameters, body, first: false });
  const list = plan.columns.map(({ column }) => quoteIdentifier(column.name)).join(', ');
  const values = plan.columns.map(value).join(', ');
  const isIt = by.map((key, i) => equalSql(key, `${updated}.${keyName(i)}`, givenSql(key))).join(' and ');
  const on = plan.conflict.columns.map(quoteIdentifier).join(', ');
  const insert = `insert into ${qualifiedName(plan.table)} (${list}) select ${values} from ${from}`;
  return `, i as (${insert} where not exists (select from ${updated} where ${isIt}) on conflict (${on}) do nothing)`;
}
