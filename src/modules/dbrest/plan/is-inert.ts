import type { Condition, Embed, Output, ReadNode, Sort, Value } from './read-plan.ts';

/**
 * Whether a read runs no function that users of the database made, nor one that could leave something in the session: who
 * comes next needs not be protected from it.
 */
export function isInert({ table, outputs, embeds, conditions, sorts }: ReadNode): boolean {
  return (
    table.isInert === true &&
    outputs.every(isInertOutput) &&
    conditions.every(isInertCondition) &&
    sorts.every(isInertSort) &&
    embeds.every(({ by, node }) => isInertWay(by) && isInert(node))
  );
}

function isInertWay(by: Embed['by']): boolean {
  return 'target' in by && (by.junction === undefined || by.junction.table.isInert === true);
}

function isInertOutput(output: Output): boolean {
  if (output.kind === 'all') return true;
  if (typeof output.cast === 'object' || typeof output.aggregateCast === 'object') return false;
  return output.kind !== 'value' || (output.through === undefined && isColumn(output.value));
}

function isInertCondition(condition: Condition): boolean {
  if ('terms' in condition) return condition.terms.every(isInertCondition);
  if ('embed' in condition) return true;
  return isColumn(condition.value) && !('read' in condition && condition.read !== undefined);
}

function isInertSort(sort: Sort): boolean {
  return sort.kind !== 'value' || isColumn(sort.value);
}

function isColumn({ of }: Value): boolean {
  return of.kind === 'column';
}
