import { quoteIdentifier } from '../../../postgres/index.ts';
import { type ReadPlan, valuesRead } from '../plan/index.ts';
import type { Table } from '../schema/index.ts';
import { ROWS } from './statement.ts';

/** Returns whether the number of shown rows differs from that of written rows. */
export function showsOthers({ grouped, embeds }: ReadPlan): boolean {
  return grouped || embeds.some(({ inner }) => inner);
}

/** The columns of `returning` that the response needs; the role may lack the privilege to read others. */
export function returningSql(rows: ReadPlan): string {
  const names = neededColumns(rows);
  if (!names) return `${ROWS}.*`;
  // Each row must return something.
  return names.size === 0 ? '1' : columnsSql([...names]);
}

/** The columns that the response shows of written rows, or all of them; `1` if it shows none. */
export function shownColumns(rows: ReadPlan, table: Table): string {
  const names = neededColumns(rows) ?? table.columns.keys();
  return columnsSql([...names]) || '1';
}

/** The columns of the written rows by name. */
export function columnsSql(names: readonly string[]): string {
  return names.map((name) => `${ROWS}.${quoteIdentifier(name)}`).join(', ');
}

/** The needed columns; `undefined` if the whole row is needed. */
function neededColumns(rows: ReadPlan): Set<string> | undefined {
  const names = new Set<string>();
  const { outputs, embeds } = rows;
  if (outputs.some(({ kind }) => kind === 'all')) return undefined;
  for (const { of } of valuesRead(rows)) {
    if (of.kind === 'computed') return undefined;
    names.add(of.column.name);
  }
  for (const { by } of embeds) {
    if (!('pairs' in by)) return undefined;
    for (const [here] of by.pairs) names.add(here);
  }
  return names;
}
