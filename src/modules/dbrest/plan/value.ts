import { noColumn } from '../fault/index.ts';
import type { Field, JsonStep } from '../request/index.ts';
import type { RowFunction, Table } from '../schema/index.ts';
import type { Context } from './context.ts';
import type { Output, Value } from './read-plan.ts';

/** A field of a table: a column, else a computed column. Throws 42703. */
export function planValue({ column: name, path = [] }: Field, table: Table, context: Context): Value {
  const column = table.columns.get(name);
  if (column) return { of: { kind: 'column', column }, path, type: typeBelow(column.type, path) };
  const call = rowFunctions(table, name, context).find(({ returnsSet }) => !returnsSet);
  if (!call) throw noColumn(table.name, name);
  return { of: { kind: 'computed', call }, path, type: typeBelow(call.type, path) };
}

/** The functions of that name that take a row of the table and lie where the location looks for them, nearest first. */
export function rowFunctions(
  table: Table,
  name: string,
  { schema, searchPath = [schema] }: Context,
): RowFunction[] {
  const named = table.functions?.filter((call) => call.name === name) ?? [];
  if (named.length === 0) return [];
  return [...new Set(searchPath)].flatMap((place) => named.filter((call) => call.schema === place));
}

function typeBelow(type: string, path: readonly JsonStep[]): string {
  const last = path.at(-1);
  if (!last) return type;
  if (last.arrow === '->>') return 'text';
  return type === 'json' ? 'json' : 'jsonb';
}

/** The place of an output that is this value and nothing more. */
export function placeAmong(value: Value, outputs: readonly Output[]): number | undefined {
  const place = outputs.findIndex(
    (output) =>
      output.kind === 'value' &&
      output.cast === undefined &&
      !output.through &&
      output.aggregate === undefined &&
      isSame(output.value, value),
  );
  return place < 0 ? undefined : place;
}

function isSame(a: Value, b: Value): boolean {
  const isSameColumn = a.of.kind === 'column' && b.of.kind === 'column' && a.of.column === b.of.column;
  const isSameCall = a.of.kind === 'computed' && b.of.kind === 'computed' && a.of.call === b.of.call;
  return (isSameColumn || isSameCall) && JSON.stringify(a.path) === JSON.stringify(b.path);
}
