import type { CommandAccess } from '../../../contract/index.ts';
import {
  type Embed,
  type NestedInsert,
  type Output,
  type Plan,
  type ReadNode,
  type Value,
  valuesAsked,
  valuesBelow,
  type WritePlan,
} from '../plan/index.ts';
import type { Table, TableName } from '../schema/index.ts';

/** A privilege that a statement needs. */
export interface Need extends TableName {
  readonly command: CommandAccess['command'];
  /** `null`: a privilege on any column is enough. */
  readonly columns: readonly string[] | null;
}

/** The privileges on tables and views that the statements of a plan need. */
export function needsOf(plan: Plan): readonly Need[] {
  const needs = new Needs();
  switch (plan.kind) {
    case 'read':
      needs.read(plan.rows);
      break;
    case 'write':
      needs.write(plan.write);
      // Rows that are written are shown from what the write returns.
      if (plan.shows === 'rows') needs.read(plan.rows);
      if (plan.shows === 'location') needs.add(plan.write.table, 'SELECT', plan.write.table.primaryKey);
      break;
    case 'call':
      // The reads of the function itself are not known, but the embeds of its rows are.
      for (const embed of plan.rows.embeds) needs.embed(plan.rows, embed);
      break;
    case 'describe':
    case 'options':
      break;
  }
  return needs.all;
}

/** Collects privileges; the columns of one table and command come together. */
class Needs {
  readonly #found = new Map<string, Need>();

  get all(): readonly Need[] {
    return [...this.#found.values()];
  }

  add({ schema, name }: TableName, command: Need['command'], columns: Iterable<string>): void {
    // The rows of a function belong to no table.
    if (schema === '') return;
    const key = JSON.stringify([schema, name, command]);
    const all = new Set([...(this.#found.get(key)?.columns ?? []), ...columns]);
    this.#found.set(key, { schema, name, command, columns: all.size === 0 ? null : [...all] });
  }

  read(node: ReadNode): void {
    this.add(
      node.table,
      'SELECT',
      node.outputs.flatMap((output) => outputColumns(output, node.table)),
    );
    this.#restrictions(node);
  }

  write(write: WritePlan): void {
    const { table } = write;
    if (write.kind === 'delete') this.add(table, 'DELETE', []);
    else {
      const written = write.columns.map(({ column }) => column.name);
      this.add(table, write.kind === 'insert' ? 'INSERT' : 'UPDATE', written);
      if (write.kind === 'insert' && write.conflict) {
        this.add(table, 'SELECT', write.conflict.columns);
        if (write.conflict.action === 'merge') this.add(table, 'UPDATE', written);
      }
    }
    if (write.kind === 'insert') {
      for (const nested of write.nested?.nested ?? []) this.nested(table, nested);
      return;
    }
    const { node } = write.rows;
    const by = write.kind === 'update' ? write.by?.map(({ column }) => column.name) : undefined;
    const key = by ?? write.rows.key ?? [];
    const isRead = node.conditions.length > 0 || key.length > 0;
    if (isRead)
      this.add(
        table,
        'SELECT',
        key.filter((name) => table.columns.has(name)),
      );
    this.#restrictions(node);
  }

  /** Rows of a related table in an insert: the columns that other rows refer to are read. */
  nested(outer: Table, { table, columns, pairs, isReferenced, nested }: NestedInsert): void {
    const here = pairs.map(([own]) => own);
    const there = pairs.map(([, other]) => other);
    const written = columns.map(({ column }) => column.name);
    this.add(table, 'INSERT', isReferenced ? written : [...written, ...there]);
    if (isReferenced) this.add(outer, 'INSERT', here);
    this.add(isReferenced ? table : outer, 'SELECT', isReferenced ? there : here);
    for (const inner of nested) this.nested(table, inner);
  }

  embed(parent: ReadNode, { by, node }: Embed): void {
    if ('returnsSet' in by) {
      this.add(parent.table, 'SELECT', parent.table.columns.keys());
      for (const inner of node.embeds) this.embed(node, inner);
      return;
    }
    const { pairs, junction } = by;
    this.add(
      parent.table,
      'SELECT',
      pairs.map(([own]) => own),
    );
    const others = pairs.map(([, other]) => other);
    if (junction) {
      this.add(junction.table, 'SELECT', [...others, ...junction.pairs.map(([own]) => own)]);
      this.add(
        node.table,
        'SELECT',
        junction.pairs.map(([, target]) => target),
      );
    } else this.add(node.table, 'SELECT', others);
    this.read(node);
  }

  /** Adds the privileges that filters, orders and embeds of a node need. */
  #restrictions(node: ReadNode): void {
    const { table, embeds } = node;
    const columns = valuesAsked(node).flatMap((value) => valueColumns(value, table));
    if (columns.length > 0) this.add(table, 'SELECT', columns);
    for (const embed of embeds) this.embed(node, embed);
    for (const { embed, value } of valuesBelow(node)) {
      this.add(embed.node.table, 'SELECT', valueColumns(value, embed.node.table));
    }
  }
}

function outputColumns(output: Output, table: Table): readonly string[] {
  if (output.kind === 'all') return [...table.columns.keys()];
  return output.kind === 'value' ? valueColumns(output.value, table) : [];
}

/** A computed column gets the whole row. */
function valueColumns({ of }: Value, table: Table): readonly string[] {
  return of.kind === 'column' ? [of.column.name] : [...table.columns.keys()];
}
