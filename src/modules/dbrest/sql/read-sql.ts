import type { ReadPlan } from '../plan/index.ts';
import { nodeSql } from './node-sql.ts';
import type { Statement } from './statement.ts';
import { Parameters } from './statement.ts';

/** The rows of a read as a `select`. */
export function rowsSql(plan: ReadPlan, parameters: Parameters): string {
  return nodeSql(plan, { relation: 'r' }, { parameters, aliases: 0 });
}

/** A `select` with as many rows as the read has without limit and offset; nothing in them. */
export function countedSql(plan: ReadPlan, parameters: Parameters): string {
  return nodeSql(plan, { relation: 'r', bare: 'counted' }, { parameters, aliases: 0 });
}

/** A read as one statement with one row: the JSON text of all rows, and their number. */
export function readSql(plan: ReadPlan): Statement {
  const parameters = new Parameters();
  // An alias of our own: a column of the same name as its table would otherwise be ambiguous in `json_agg`.
  const text = `select coalesce(pg_catalog.json_agg(t.*), '[]')::text, pg_catalog.count(*)::text from (${rowsSql(plan, parameters)}) t`;
  return { text, values: parameters.values };
}
