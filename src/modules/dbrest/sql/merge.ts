import { quoteIdentifier } from '../../../postgres/index.ts';
import type { WritePlan, WrittenColumn } from '../plan/index.ts';
import { type BoundValue, hiddenName, type Parameters, qualifiedName, ROWS } from './statement.ts';
import { writtenRows } from './written-rows.ts';

export type InsertPlan = WritePlan & { kind: 'insert' };

interface MergeParts {
  readonly body: BoundValue;
}

/** The columns by which an upsert updates rows, because no row of the body can be inserted. */
export function mergedBy(plan: WritePlan): readonly WrittenColumn[] | undefined {
  return plan.kind === 'insert' ? plan.conflict?.by : undefined;
}

/** The update of the rows that exist, for an upsert whose rows cannot be inserted. */
export function mergeSql(plan: InsertPlan, { body }: MergeParts, parameters: Parameters): string {
  const by = mergedBy(plan) ?? [];
  const { from, given, value } = writtenRows(plan, { parameters, body, first: false });
  const others = plan.columns.filter((column) => !by.includes(column));
  const set = (others.length > 0 ? others : by)
    .map((written) => `${quoteIdentifier(written.column.name)} = ${value(written)}`)
    .join(', ');
  const keys = by.map((key) => `${ROWS}.${quoteIdentifier(key.column.name)} = ${given(key)}`).join(' and ');
  return `update ${qualifiedName(plan.table)} as ${ROWS} set ${set} from ${from} where ${keys}`;
}

const keyName = (i: number): string => hiddenName(`key ${i + 1}`);

/** The keys of updated rows, so that the others are known. */
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
 * The insert of the rows that such an update has not found, which PostgreSQL refuses in its own words: for lack of a column, or of a
 * privilege to insert. It does so also for one that another transaction has inserted meanwhile.
 */
export function othersSql(
  plan: WritePlan,
  { body }: MergeParts,
  { parameters, updated }: OthersScope,
): string {
  const by = mergedBy(plan);
  if (!by || plan.kind !== 'insert' || !plan.conflict) return '';
  const { from, given, value } = writtenRows(plan, { parameters, body, first: false });
  const list = plan.columns.map(({ column }) => quoteIdentifier(column.name)).join(', ');
  const values = plan.columns.map(value).join(', ');
  const isIt = by.map((key, i) => `${updated}.${keyName(i)} = ${given(key)}`).join(' and ');
  const on = plan.conflict.columns.map(quoteIdentifier).join(', ');
  const insert = `insert into ${qualifiedName(plan.table)} (${list}) select ${values} from ${from}`;
  return `, i as (${insert} where not exists (select from ${updated} where ${isIt}) on conflict (${on}) do nothing)`;
}
