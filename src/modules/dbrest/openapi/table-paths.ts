import { componentName, reference, splitComment } from './names.ts';
import { RESERVED, rowFilter, shared } from './parameters.ts';
import { ERROR, NO_CONTENT } from './responses.ts';
import type { ShownTable } from './shown-table.ts';
import type { JsonSchema } from './type-schema.ts';

/** Where one location keeps a table: its profile headers come with every operation. */
export interface Profiles {
  readonly read: readonly JsonSchema[];
  readonly write: readonly JsonSchema[];
}

/** The filters by the columns of a table, as components. */
export function rowFilters({ table, columns }: ShownTable): readonly [name: string, JsonSchema][] {
  return filterable(columns).map(({ column: { name, comment } }) => [
    filterName(table.name, name),
    rowFilter(name, comment),
  ]);
}

/** The operations on one table. */
export function tablePath(shown: ShownTable, profiles: Profiles): JsonSchema {
  const { methods } = shown;
  return {
    ...(methods.get && { get: readOperation(shown, profiles) }),
    ...(methods.post && { post: insertOperation(shown, profiles) }),
    ...(methods.put && { put: replaceOperation(shown, profiles) }),
    ...(methods.patch && { patch: updateOperation(shown, profiles) }),
    ...(methods.delete && { delete: deleteOperation(shown, profiles) }),
  };
}

/** The rows of a table as an answer; `undefined` where they cannot be read. */
export function rowsResponse({ table, methods }: ShownTable): JsonSchema | undefined {
  if (!methods.get) return undefined;
  const row = reference('schemas', componentName(table.name));
  return {
    description: `Rows of ${table.name}`,
    headers: { 'Content-Range': { description: 'Which rows, of how many', schema: { type: 'string' } } },
    content: {
      'application/json': { schema: { type: 'array', items: row } },
      'application/vnd.pgrst.object+json': { schema: row },
      'text/csv': { schema: { type: 'string' } },
    },
  };
}

function readOperation(shown: ShownTable, { read }: Profiles): JsonSchema {
  const paging = shared('select', 'order', 'limit', 'offset', 'range', 'rangeUnit', 'preferRead');
  return {
    ...heading(shown),
    parameters: [...filters(shown), ...paging, ...read],
    responses: { 200: rows(shown), 206: rows(shown), default: ERROR },
  };
}

function insertOperation(shown: ShownTable, { write }: Profiles): JsonSchema {
  return {
    ...heading(shown),
    parameters: [...shared('select', 'columns', 'on_conflict', 'preferInsert'), ...write],
    requestBody: body(shown, 'insert', 'any number'),
    responses: { 200: rows(shown), 201: rows(shown, 'Created'), default: ERROR },
  };
}

/** PUT: the row of the key, there afterwards whether it was there before or not. */
function replaceOperation(shown: ShownTable, { write }: Profiles): JsonSchema {
  const key = shown.table.primaryKey.map((name) => ({
    name,
    in: 'query',
    required: true,
    schema: { type: 'string', pattern: '^eq\\.' },
  }));
  return {
    ...heading(shown),
    parameters: [...key, ...shared('select', 'columns', 'preferInsert'), ...write],
    requestBody: body(shown, 'insert', 'one'),
    responses: { 200: rows(shown), 201: rows(shown, 'Created'), 204: NO_CONTENT, default: ERROR },
  };
}

function updateOperation(shown: ShownTable, { write }: Profiles): JsonSchema {
  const own = shared('select', 'columns', 'order', 'limit', 'preferUpdate');
  return {
    ...heading(shown),
    parameters: [...filters(shown), ...own, ...write],
    requestBody: body(shown, 'update', 'one'),
    responses: { 200: rows(shown), 204: NO_CONTENT, default: ERROR },
  };
}

function deleteOperation(shown: ShownTable, { write }: Profiles): JsonSchema {
  return {
    ...heading(shown),
    parameters: [...filters(shown), ...shared('select', 'order', 'limit', 'preferDelete'), ...write],
    responses: { 200: rows(shown), 204: NO_CONTENT, default: ERROR },
  };
}

function heading({ table }: ShownTable): JsonSchema {
  return { tags: [table.name], ...splitComment(table.comment) };
}

function filters({ table, columns }: ShownTable): readonly JsonSchema[] {
  const byColumn = filterable(columns).map(({ column }) =>
    reference('parameters', filterName(table.name, column.name)),
  );
  return [...byColumn, ...shared('and', 'or')];
}

function filterable(columns: ShownTable['columns']): ShownTable['columns'] {
  return columns.filter(({ column, isReadable }) => isReadable && !RESERVED.has(column.name));
}

function filterName(table: string, column: string): string {
  return `rowFilter.${componentName(table)}.${componentName(column)}`;
}

/** Where nothing can be read nothing comes back either. */
function rows({ table, methods }: ShownTable, description = 'OK'): JsonSchema {
  return methods.get ? reference('responses', componentName(table.name)) : { description };
}

function body({ table }: ShownTable, use: 'insert' | 'update', number: 'one' | 'any number'): JsonSchema {
  const row = reference('schemas', `${componentName(table.name)}.${use}`);
  const schema = number === 'one' ? row : { oneOf: [row, { type: 'array', items: row }] };
  return {
    required: true,
    content: {
      'application/json': { schema },
      'application/x-www-form-urlencoded': { schema: row },
      'text/csv': { schema: { type: 'string' } },
    },
  };
}
