import { noTable } from '../fault/index.ts';
import type { ReadRequest } from '../request/index.ts';
import type { Schema } from '../schema/index.ts';
import { similarTable } from '../schema/index.ts';
import type { ReadTarget } from './context.ts';
import { planNode } from './plan-node.ts';
import type { ReadPlan } from './read-plan.ts';

/** Checks a request against the schema: every name in the result is the schema's. Throws a `DbrestFault`. */
export function planRead(request: ReadRequest, target: ReadTarget, known: Schema): ReadPlan {
  const table = known.tables.get(target.schema)?.get(target.table);
  if (!table) throw noTable(target.schema, target.table, similarTable(target, target.role, known));
  const { select, embedded, ...root } = request;
  const levels = [{ ...root, path: [] }, ...embedded];
  return planNode(
    table,
    { select: select.length === 0 ? [{ kind: 'all' }] : select, levels, spread: false },
    { ...target, known },
  );
}

/** Whether a read shows more than columns of its table: only JSON can hold that. */
export function hasEmbeds({ embeds }: ReadPlan): boolean {
  return embeds.length > 0;
}
