import { noTable } from '../fault/index.ts';
import type { ReadRequest } from '../request/index.ts';
import type { Schema, Table } from '../schema/index.ts';
import { similarTable } from '../schema/index.ts';
import type { Context, ReadTarget } from './context.ts';
import { planNode } from './plan-node.ts';
import type { ReadPlan } from './read-plan.ts';

/** Checks a request against the schema: every name in the result is the schema's. Throws a `DbrestFault`. */
export function planRead(request: ReadRequest, target: ReadTarget, known: Schema): ReadPlan {
  const table = known.tables.get(target.schema)?.get(target.table);
  if (!table) throw noTable(target.schema, target.table, similarTable(target, target.role, known));
  return planRows(request, table, { ...target, known });
}

/** The same for rows of a table that is known already, wherever they come from. */
export function planRows(request: ReadRequest, table: Table, context: Context): ReadPlan {
  const { select, embedded, filters, order, limit, offset } = request;
  const root = { path: [], filters, order, ...(limit !== undefined && { limit }), offset };
  const levels = [root, ...embedded];
  const items: ReadRequest['select'] = select.length === 0 ? [{ kind: 'all' }] : select;
  return planNode(table, { select: items, levels, spread: false }, context);
}

/** Whether a read shows more than columns of its table: only JSON can hold that. */
export function hasEmbeds({ embeds }: ReadPlan): boolean {
  return embeds.length > 0;
}
