import { baseOf } from '../plan/index.ts';
import type { Rights, StoredFunction } from '../schema/index.ts';
import { ERROR, NO_CONTENT, RESERVED, rowFilter, shared } from './components.ts';
import type { ShownTable } from './tables.ts';
import {
  componentName,
  type JsonSchema,
  nullable,
  reference,
  splitComment,
  type TypeContext,
  typeSchema,
} from './json-schema.ts';

/** The profile headers of read and write operations, and what reads of the API take besides. */
export interface Profiles {
  readonly read: readonly JsonSchema[];
  readonly write: readonly JsonSchema[];
  readonly grouping: readonly Grouping[];
}

/** Parameters that group rows. A column or an argument of such a name takes its place in the description. */
type Grouping = 'having' | 'distinct';

/** The filter parameters of a table, as components. */
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

/** The response with rows of a table; `undefined` if they cannot be read. */
export function rowsResponse({ table, methods }: ShownTable): JsonSchema | undefined {
  if (!methods.get) return undefined;
  const row = reference('schemas', componentName(table.name));
  return {
    description: `Rows of ${table.name}`,
    headers: {
      'Content-Range': {
        description: 'Range of the rows, and their total number',
        schema: { type: 'string' },
      },
    },
    content: {
      'application/json': { schema: { type: 'array', items: row } },
      'application/vnd.pgrst.object+json': { schema: row },
      'text/csv': { schema: { type: 'string' } },
    },
  };
}

function readOperation(shown: ShownTable, { read, grouping }: Profiles): JsonSchema {
  const groups = grouping.filter((name) => !shown.table.columns.has(name));
  const paging = shared('select', ...groups, 'order', 'limit', 'offset', 'range', 'rangeUnit', 'preferRead');
  return {
    ...tableHeading(shown),
    parameters: [...filters(shown), ...paging, ...read],
    responses: { 200: rows(shown), 206: rows(shown), default: ERROR },
  };
}

function insertOperation(shown: ShownTable, { write }: Profiles): JsonSchema {
  return {
    ...tableHeading(shown),
    parameters: [...shared('select', 'columns', 'on_conflict', 'preferInsert'), ...write],
    requestBody: body(shown, 'insert', 'any number'),
    responses: { 200: rows(shown), 201: rows(shown, 'Created'), default: ERROR },
  };
}

/** PUT inserts or replaces the row of a key. */
function replaceOperation(shown: ShownTable, { write }: Profiles): JsonSchema {
  const key = shown.table.primaryKey.map((name) => ({
    name,
    in: 'query',
    required: true,
    schema: { type: 'string', pattern: '^eq\\.' },
  }));
  return {
    ...tableHeading(shown),
    parameters: [...key, ...shared('select', 'columns', 'preferInsert'), ...write],
    requestBody: body(shown, 'insert', 'one'),
    responses: { 200: rows(shown), 201: rows(shown, 'Created'), 204: NO_CONTENT, default: ERROR },
  };
}

function updateOperation(shown: ShownTable, { write }: Profiles): JsonSchema {
  const own = shared('select', 'columns', 'on_conflict', 'order', 'limit', 'preferUpdate');
  return {
    ...tableHeading(shown),
    parameters: [...filters(shown), ...own, ...write],
    requestBody: body(shown, 'update', 'any number'),
    responses: { 200: rows(shown), 204: NO_CONTENT, default: ERROR },
  };
}

function deleteOperation(shown: ShownTable, { write }: Profiles): JsonSchema {
  return {
    ...tableHeading(shown),
    parameters: [...filters(shown), ...shared('select', 'order', 'limit', 'preferDelete'), ...write],
    responses: { 200: rows(shown), 204: NO_CONTENT, default: ERROR },
  };
}

function tableHeading({ table }: ShownTable): JsonSchema {
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

/** The response of an operation; without the privilege to read it has no rows. */
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

/** Callable functions of one name; never empty. */
export type Overloads = readonly StoredFunction[];

/** The functions that may be called, grouped and sorted by name. */
export function callable(
  functions: ReadonlyMap<string, readonly StoredFunction[]> | undefined,
  rights: Rights,
): readonly Overloads[] {
  const byName = Array.from(functions?.values() ?? [], (overloads) =>
    overloads.filter(({ isProcedure, grantees }) => !isProcedure && rights.isAmong(grantees)),
  );
  return byName
    .filter((overloads) => overloads.length > 0)
    .sort(([a], [b]) => ((a?.name ?? '') < (b?.name ?? '') ? -1 : 1));
}

/** The operations on functions of one name: GET if some of them are not volatile, and POST. */
export function functionPath(overloads: Overloads, context: TypeContext, profiles: Profiles): JsonSchema {
  const readable = overloads.filter(({ volatility }) => volatility !== 'volatile');
  return {
    ...(readable.length > 0 && {
      get: {
        ...functionHeading(readable),
        parameters: [
          ...argumentParameters(readable, context),
          ...resultParameters(readable, profiles),
          ...profiles.read,
        ],
        responses: responsesOf(readable, context),
      },
    }),
    post: {
      ...functionHeading(overloads),
      parameters: [...resultParameters(overloads, profiles), ...profiles.write],
      ...bodyOf(overloads, context),
      responses: responsesOf(overloads, context),
    },
  };
}

function functionHeading(overloads: Overloads): JsonSchema {
  const name = overloads[0]?.name ?? '';
  return {
    tags: [`(rpc) ${name}`],
    ...splitComment(overloads.find(({ comment }) => comment !== undefined)?.comment),
  };
}

/**
 * The arguments of overloads as parameters. The type is that of the first overload; an argument is required if all
 * overloads require it.
 */
function argumentParameters(overloads: Overloads, context: TypeContext): readonly JsonSchema[] {
  const names = new Set(overloads.flatMap((one) => one.arguments.map(({ name }) => name)));
  return Array.from(names)
    .filter((name) => name !== '' && !RESERVED.has(name))
    .map((name) => {
      const found = overloads.map((one) => one.arguments.find((argument) => argument.name === name));
      const type = found.find(Boolean)?.type ?? '';
      return {
        name,
        in: 'query',
        required: found.every((argument) => argument?.required === true),
        schema: querySchema(typeSchema(type, context)),
      };
    });
}

/** In a query, structured values are written in PostgreSQL's notation. */
function querySchema(schema: JsonSchema): JsonSchema {
  const isPlain = ['string', 'integer', 'number', 'boolean'].includes(String(schema['type']));
  return isPlain ? schema : { type: 'string', ...('format' in schema && { format: schema['format'] }) };
}

/** The parameters for the result: those of a table if the function returns a set. */
function resultParameters(overloads: Overloads, { grouping }: Profiles): readonly JsonSchema[] {
  const isTable = overloads.some(({ returnsSet, returns: { kind } }) => returnsSet && kind !== 'void');
  const groups = grouping.filter(
    (name) => !overloads.some((one) => one.arguments.some((own) => own.name === name)),
  );
  return isTable
    ? shared('select', ...groups, 'order', 'limit', 'offset', 'and', 'or', 'range', 'rangeUnit', 'preferCall')
    : shared('preferCall');
}

const WHOLE_BODY: Readonly<Record<string, { readonly type: string; readonly schema: JsonSchema }>> = {
  json: { type: 'application/json', schema: {} },
  jsonb: { type: 'application/json', schema: {} },
  text: { type: 'text/plain', schema: { type: 'string' } },
  xml: { type: 'text/xml', schema: { type: 'string' } },
  bytea: { type: 'application/octet-stream', schema: { type: 'string', format: 'binary' } },
};

function bodyOf(overloads: Overloads, context: TypeContext): { requestBody?: JsonSchema } {
  const named = overloads.filter((one) => one.arguments.every(({ name }) => name !== ''));
  const schemas = named.map((one) => argumentsSchema(one, context));
  const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas };
  const whole = overloads
    .filter((one) => !named.includes(one))
    .flatMap((one) => WHOLE_BODY[baseOf(one.arguments[0]?.type ?? '', context.known)] ?? [])
    .map((body) => [body.type, { schema: body.schema }] as const);
  const content = {
    ...(schemas.length > 0 && {
      'application/json': { schema },
      'application/x-www-form-urlencoded': { schema },
    }),
    ...Object.fromEntries(whole),
  };
  const takesNothing = overloads.every((one) => one.arguments.length === 0);
  return takesNothing ? {} : { requestBody: { content } };
}

/** The arguments of a function as the members of a JSON object. */
export function argumentsSchema(one: StoredFunction, context: TypeContext): JsonSchema {
  const required = one.arguments.filter((argument) => argument.required).map(({ name }) => name);
  const properties = one.arguments.map(
    ({ name, type }) => [name, nullable(typeSchema(type, context))] as const,
  );
  return {
    type: 'object',
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(properties),
  };
}

function responsesOf(overloads: Overloads, context: TypeContext): JsonSchema {
  const given = overloads.filter(({ returns }) => returns.kind !== 'void');
  const schemas = given.map((one) => resultSchema(one, context));
  const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas };
  const types = new Set(given.map(({ mediaType = 'application/json' }) => mediaType));
  const content = Object.fromEntries(
    Array.from(types, (type) => [type, { schema: type === 'application/json' ? schema : {} }]),
  );
  return {
    ...(given.length > 0 && { 200: { description: 'OK', content } }),
    ...(given.length < overloads.length && { 204: NO_CONTENT }),
    default: ERROR,
  };
}

function resultSchema({ returns, returnsSet }: StoredFunction, context: TypeContext): JsonSchema {
  const one = onceSchema(returns, context);
  return returnsSet ? { type: 'array', items: one } : one;
}

function onceSchema(returns: StoredFunction['returns'], context: TypeContext): JsonSchema {
  switch (returns.kind) {
    case 'void':
      return {};
    case 'scalar':
      return nullable(typeSchema(returns.type, context));
    case 'table':
      return context.hasComponent(returns.table.schema, returns.table.name)
        ? reference('schemas', componentName(returns.table.name))
        : { type: 'object' };
    case 'columns': {
      const properties = returns.columns.map(
        ({ name, type }) => [name, nullable(typeSchema(type, context))] as const,
      );
      return { type: 'object', properties: Object.fromEntries(properties) };
    }
  }
}
