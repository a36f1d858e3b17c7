import type { ConditionOn, Embed, ReadNode, Value } from './node.ts';

/** The values of a node's own rows that its outputs, filters and orders read. */
export function valuesRead(node: ReadNode): Value[] {
  return [
    ...node.outputs.flatMap((output) => (output.kind === 'value' ? [output.value] : [])),
    ...valuesAsked(node),
  ];
}

/** The values of a node's own rows that its filters and orders read. */
export function valuesAsked({ conditions, having, sorts }: ReadNode): Value[] {
  return [
    ...conditions.flatMap((condition) => valuesOf(condition)),
    ...having.flatMap((condition) => valuesOf(condition)).flatMap(({ value }) => value ?? []),
    ...sorts.flatMap((sort) => {
      if (sort.kind === 'value') return [sort.value];
      return sort.kind === 'aggregation' && !sort.embed ? (sort.aggregation.value ?? []) : [];
    }),
  ];
}

function valuesOf<V>(condition: ConditionOn<V>): V[] {
  if ('terms' in condition) return condition.terms.flatMap((term) => valuesOf(term));
  return 'embed' in condition ? [] : [condition.value];
}

/** The values of embedded rows that aggregates in a node's orders read. */
export function valuesBelow({
  outputs,
  sorts,
}: ReadNode): { readonly embed: Embed; readonly value: Value }[] {
  return [...outputs, ...sorts].flatMap((one) => {
    if (one.kind !== 'aggregation' || !one.embed || !one.aggregation.value) return [];
    return [{ embed: one.embed, value: one.aggregation.value }];
  });
}
