import type { ReadPlan } from '../plan/index.ts';
import { nodeSql } from './node-sql.ts';
import type { Parameters } from './statement.ts';
import type { RowSource } from './writing.ts';
import { ROWS } from './writing.ts';

/** The rows of a read as a `select`; without a source they are those of its table. */
export function rowsSql(plan: ReadPlan, parameters: Parameters, source?: RowSource): string {
  return nodeSql(plan, wanted(source), { parameters, source, aliases: 0 });
}

/** A `select` with as many rows as the read has without limit and offset; nothing in them. */
export function countedSql(plan: ReadPlan, parameters: Parameters, source?: RowSource): string {
  return nodeSql(plan, { ...wanted(source), bare: 'counted' }, { parameters, source, aliases: 0 });
}

function wanted(source: RowSource | undefined): { relation: string; source?: string } {
  return { relation: ROWS, ...(source && { source: source.from }) };
}
