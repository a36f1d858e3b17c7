import { quoteIdentifier } from '../../../postgres/index.ts';
import type { InsertPlan, WritePlan, WrittenColumn } from '../plan/index.ts';
import { type BoundValue, hiddenName, type Parameters, qualifiedName, ROWS } from './statement.ts';
import { equalSql, givenSql, sameKeysSql, writtenRows } from './written-rows.ts';

/*
 * A partial upsert: its rows lack a column that an insert needs, so rows that exist are updated, and the insert of the others fails.
 */

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
 * The insert of the rows that the update has not found, as a further item of its `with`. PostgreSQL refuses it in its own words, because a
 * column or the privilege to insert is missing. A row that another transaction inserts at the same time is refused as well.
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
