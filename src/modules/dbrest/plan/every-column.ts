import type { Table } from '../schema/index.ts';
import type { Output } from './read-plan.ts';

/** `*` by names, for outputs that are grouped by, or shown one by one. */
export function everyColumn(output: Output, table: Table): Output[] {
  if (output.kind !== 'all') return [output];
  return Array.from(table.columns.values(), (column) => ({
    kind: 'value',
    name: column.name,
    value: { of: { kind: 'column', column }, path: [], type: column.type },
  }));
}
