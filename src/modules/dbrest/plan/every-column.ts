import type { Column, Schema, Table } from '../schema/index.ts';
import type { Output } from './read-plan.ts';

/** `*` by names, for outputs that are grouped by, or shown one by one. */
export function everyColumn(output: Output, table: Table, known: Schema): Output[] {
  if (output.kind !== 'all') return [output];
  return Array.from(table.columns.values(), (column) => ({
    kind: 'value',
    name: column.name,
    value: { of: { kind: 'column', column }, path: [], type: column.type },
    ...shownThrough(column, known),
  }));
}

/** Whether a column of a table is shown in another way than as it is, so that `*` has to name them. */
export function isRepresented({ columns }: Table, { representations }: Schema): boolean {
  if (!representations || representations.size === 0) return false;
  return [...columns.values()].some(({ type }) => representations.get(type)?.shown);
}

/** The function that turns a value of a type into what is shown, if there is one. */
export function shownThrough(
  { type }: Pick<Column, 'type'>,
  { representations }: Schema,
): Pick<Output & { kind: 'value' }, 'through'> {
  const through = representations?.get(type)?.shown;
  return through ? { through } : {};
}
