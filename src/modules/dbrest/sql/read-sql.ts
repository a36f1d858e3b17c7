import type { ReadPlan } from '../plan/index.ts';
import { nodeSql } from './node-sql.ts';
import type { Parameters } from './statement.ts';

/** The rows of a read as a `select`. */
export function rowsSql(plan: ReadPlan, parameters: Parameters): string {
  return nodeSql(plan, { relation: 'r' }, { parameters, aliases: 0 });
}

/** A `select` with as many rows as the read has without limit and offset; nothing in them. */
export function countedSql(plan: ReadPlan, parameters: Parameters): string {
  return nodeSql(plan, { relation: 'r', bare: 'counted' }, { parameters, aliases: 0 });
}
