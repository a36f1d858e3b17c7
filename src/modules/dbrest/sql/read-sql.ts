import type { Output, ReadPlan, Sort } from '../plan/index.ts';
import { conditionSql } from './condition.ts';
import { quoteIdentifier } from './identifier.ts';
import type { Statement } from './statement.ts';
import { Parameters } from './statement.ts';

const NULLS_SQL = { nullsfirst: ' nulls first', nullslast: ' nulls last' };

/** A read as one statement with one row: the JSON text of all rows, and their number. */
export function readSql(plan: ReadPlan): Statement {
  const parameters = new Parameters();
  const table = `${quoteIdentifier(plan.table.schema)}.${quoteIdentifier(plan.table.name)}`;
  // An alias of our own: a column of the same name as its table would otherwise be ambiguous in `json_agg`.
  const outputs = plan.outputs.length === 0 ? 'r.*' : plan.outputs.map(outputSql).join(', ');
  const where = plan.conditions.map((condition) => conditionSql(condition, 'r', parameters)).join(' and ');
  const order = plan.sorts.map(sortSql).join(', ');
  const rows = [
    `select ${outputs} from ${table} r`,
    where && ` where ${where}`,
    order && ` order by ${order}`,
    plan.limit !== undefined && ` limit ${parameters.bind(String(plan.limit))}`,
    plan.offset > 0 && ` offset ${parameters.bind(String(plan.offset))}`,
  ];
  const text = `select coalesce(pg_catalog.json_agg(t.*), '[]')::text, pg_catalog.count(*)::text from (${rows.filter(Boolean).join('')}) t`;
  return { text, values: parameters.values };
}

function outputSql(output: Output): string {
  if (output.kind === 'all') return 'r.*';
  const column = `r.${quoteIdentifier(output.column.name)}`;
  const value = output.cast === undefined ? column : `${column}::${output.cast}`;
  const name = output.alias ?? (output.cast === undefined ? undefined : output.column.name);
  return name === undefined ? value : `${value} as ${quoteIdentifier(name)}`;
}

function sortSql({ column, direction, nulls }: Sort): string {
  return `r.${quoteIdentifier(column.name)}${direction ? ` ${direction}` : ''}${nulls ? NULLS_SQL[nulls] : ''}`;
}
