import { showTable, type ShownTable } from '../openapi/index.ts';
import { relationshipsOf, type Schema } from '../schema/index.ts';
import type { ToolContext } from './tool.ts';

/** Tables in one list. */
const MOST_LISTED = 200;

/** The tables of a schema that the role may use, sorted by name. A slash in a name would lead to another resource. */
function shownTables({ known, rights }: ToolContext, schema: string): readonly ShownTable[] {
  if (!rights.usesSchema(schema)) return [];
  const tables = [...(known.tables.get(schema)?.values() ?? [])].filter(({ name }) => !name.includes('/'));
  return tables.sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((table) => [...showTable(table, rights)]);
}

/** The list of tables as JSON; `next` is the last name if there are more. */
export function listedTables(
  context: ToolContext,
  { schema, after }: { readonly schema: string; readonly after: string | undefined },
): string {
  const all = shownTables(context, schema).filter(({ table }) => after === undefined || table.name > after);
  const tables = all.slice(0, MOST_LISTED).map((shown) => {
    const { name, comment, isView } = shown.table;
    return { schema, name, kind: isView ? 'view' : 'table', may: usesOf(shown, context), comment };
  });
  return JSON.stringify({ tables, next: all.length > MOST_LISTED ? tables.at(-1)?.name : undefined });
}

function usesOf({ methods }: ShownTable, { writes }: ToolContext): readonly string[] {
  return [
    ...(methods.get ? ['read'] : []),
    ...(writes && methods.post ? ['insert'] : []),
    ...(writes && methods.patch ? ['update'] : []),
    ...(writes && methods.delete ? ['delete'] : []),
  ];
}

/** A table as JSON. */
export function describedTable({ table, columns }: ShownTable, context: ToolContext): string {
  const { known } = context;
  const visible = new Set(shownTables(context, table.schema).map((shown) => shown.table.name));
  return JSON.stringify({
    schema: table.schema,
    name: table.name,
    comment: table.comment,
    columns: columns.map(({ column, isReadable }) => ({
      name: column.name,
      type: column.type,
      nullable: column.isNotNull !== true,
      default: column.defaultSql,
      generated: column.isGenerated === true || column.identity === 'always' ? true : undefined,
      readable: isReadable ? undefined : false,
      values: valuesOf(column.type, known),
      comment: column.comment,
    })),
    primaryKey: table.primaryKey,
    related: relationshipsOf(table, known)
      .filter(({ target }) => visible.has(target.name) && target.schema === table.schema)
      .map(({ target, cardinality, pairs }) => ({ table: target.name, cardinality, columns: pairs })),
  });
}

/** The labels of an enum. */
function valuesOf(type: string, { shapes }: Schema): readonly string[] | undefined {
  const shape = shapes?.get(type);
  return shape?.kind === 'enum' ? shape.labels : undefined;
}
