import type { ReadPlan } from '../plan/index.ts';
import { quoteIdentifier } from './identifier.ts';
import { ROWS } from './writing.ts';

/** Columns of written rows that what is shown of them needs: a role need not be allowed to read the others. */
export function returningSql(answer: ReadPlan): string {
  const names = neededColumns(answer);
  if (!names) return `${ROWS}.*`;
  // Something has to come back for each row.
  return names.size === 0 ? '1' : columnsSql([...names]);
}

/** Columns of written rows by name. */
export function columnsSql(names: readonly string[]): string {
  return names.map((name) => `${ROWS}.${quoteIdentifier(name)}`).join(', ');
}

/** `undefined`: all of them, or a row as a whole. */
function neededColumns({ outputs, sorts, embeds }: ReadPlan): Set<string> | undefined {
  const names = new Set<string>();
  const values = [
    ...outputs.flatMap((output) => (output.kind === 'value' ? [output.value] : [])),
    ...sorts.flatMap((sort) => (sort.kind === 'value' ? [sort.value] : [])),
  ];
  if (outputs.some(({ kind }) => kind === 'all')) return undefined;
  for (const { of } of values) {
    if (of.kind === 'computed') return undefined;
    names.add(of.column.name);
  }
  for (const { by } of embeds) {
    if (!('pairs' in by)) return undefined;
    for (const [here] of by.pairs) names.add(here);
  }
  return names;
}
