import type { Argument } from '../schema/index.ts';
import { RESERVED } from './components.ts';
import {
  componentName,
  type JsonSchema,
  MemberWriter,
  splitComment,
  type TypeContext,
  typeSchema,
} from './json-schema.ts';
import { argumentsSchema, callable, type Overloads } from './paths.ts';
import { type DescriptionSubject, infoOf, shownTables } from './subject.ts';
import { type ShownTable, tableSchemas } from './tables.ts';

const MEDIA = ['application/json', 'application/vnd.pgrst.object+json', 'text/csv'];
const OK: JsonSchema = { description: 'OK' };

function text(place: 'query' | 'header', name: string, description: string): JsonSchema {
  return { name, description, required: false, in: place, type: 'string' };
}

function prefer(...values: readonly string[]): JsonSchema {
  return { ...text('header', 'Prefer', 'Preference'), enum: values };
}

const RETURNS = ['return=representation', 'return=minimal', 'return=none'];

/** PostgREST's shared parameters. */
const PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  preferParams: prefer('params=single-object'),
  preferReturn: prefer(...RETURNS),
  preferCount: prefer('count=none', 'count=exact', 'count=planned', 'count=estimated'),
  preferPost: prefer(...RETURNS, 'resolution=ignore-duplicates', 'resolution=merge-duplicates'),
  select: text('query', 'select', 'Filtering Columns'),
  on_conflict: text('query', 'on_conflict', 'On Conflict'),
  order: text('query', 'order', 'Ordering'),
  range: text('header', 'Range', 'Limiting and Pagination'),
  rangeUnit: { ...text('header', 'Range-Unit', 'Limiting and Pagination'), default: 'items' },
  offset: text('query', 'offset', 'Limiting and Pagination'),
  limit: text('query', 'limit', 'Limiting and Pagination'),
};

const ROOT_PATH: JsonSchema = {
  get: {
    tags: ['Introspection'],
    summary: 'OpenAPI description (this document)',
    produces: ['application/openapi+json', 'application/json'],
    responses: { 200: OK },
  },
};

/**
 * Writes the OpenAPI 2.0 document of PostgREST as JSON, for generators that read no later version. Its first members
 * depend on the request: the result follows `{"swagger":"2.0","basePath":…,`. Yields after each table and function.
 */
export function* writeSwagger(subject: DescriptionSubject): Generator<undefined, Buffer> {
  const { known, schema, rights, api } = subject;
  const tables = yield* shownTables(subject);
  const names = new Set(tables.map(({ table }) => table.name));
  const context: TypeContext = { known, hasComponent: (of, table) => of === schema && names.has(table) };
  const [paths, parameters, definitions] = [new MemberWriter(), new MemberWriter(), new MemberWriter()];
  paths.add('/', ROOT_PATH);
  parameters.addAll(Object.entries(PARAMETERS));
  for (const shown of tables) {
    definitions.add(componentName(shown.table.name), definition(shown, context));
    parameters.addAll(tableParameters(shown));
    if (api.hasTables) paths.add(`/${encodeURIComponent(shown.table.name)}`, tablePath(shown));
    yield;
  }
  const mayCall = api.functionPath !== undefined && rights.usesSchema(schema);
  for (const overloads of mayCall ? callable(known.functions?.get(schema), rights) : []) {
    const path = `${api.functionPath}${encodeURIComponent(overloads[0]?.name ?? '')}`;
    if (path !== api.batchPath) paths.add(path, functionPath(overloads, context));
    yield;
  }
  return finish(subject, { paths, parameters, definitions });
}

function finish(subject: DescriptionSubject, members: Readonly<Record<string, MemberWriter>>): Buffer {
  const whole = new MemberWriter();
  whole.add('info', infoOf(subject));
  whole.add('consumes', MEDIA);
  whole.add('produces', MEDIA);
  if (subject.api.hasTokens) {
    const description = 'Add the token prepending "Bearer " (without quotes) to it';
    whole.add('securityDefinitions', {
      JWT: { type: 'apiKey', name: 'Authorization', in: 'header', description },
    });
    whole.add('security', [{ JWT: [] }]);
  }
  for (const [name, writer] of Object.entries(members)) whole.addMembers(name, writer);
  return Buffer.concat([...whole.pieces(), Buffer.from('}')]);
}

function reference(kind: 'parameters' | 'definitions', name: string): JsonSchema {
  return { $ref: `#/${kind}/${name}` };
}

function bodyName({ table }: ShownTable): string {
  return `body.${componentName(table.name)}`;
}

function filterName(table: string, column: string): string {
  return `rowFilter.${componentName(table)}.${componentName(column)}`;
}

/** The columns that can be filtered by. The names of the others are taken by parameters. */
function filterable({ columns }: ShownTable): ShownTable['columns'] {
  return columns.filter(({ column }) => !RESERVED.has(column.name));
}

function tableParameters(shown: ShownTable): readonly (readonly [name: string, JsonSchema])[] {
  const { name } = shown.table;
  const body = {
    name: componentName(name),
    description: name,
    required: false,
    in: 'body',
    schema: reference('definitions', componentName(name)),
  };
  const filters = filterable(shown).map(({ column }) => {
    const comment = column.comment === undefined ? {} : { description: column.comment };
    return [
      filterName(name, column.name),
      { name: column.name, ...comment, required: false, in: 'query', type: 'string' },
    ] as const;
  });
  return [[bodyName(shown), body], ...filters];
}

function tablePath(shown: ShownTable): JsonSchema {
  const { table, methods } = shown;
  const heading = { tags: [table.name], ...splitComment(table.comment) };
  const filters = filterable(shown).map(({ column }) => filterName(table.name, column.name));
  const operation = (responses: JsonSchema, ...names: readonly string[]): JsonSchema => ({
    ...heading,
    parameters: names.map((name) => reference('parameters', name)),
    responses,
  });
  const rows = { type: 'array', items: reference('definitions', componentName(table.name)) };
  const paging = ['select', 'order', 'range', 'rangeUnit', 'offset', 'limit', 'preferCount'];
  const read = { 200: { ...OK, schema: rows }, 206: { description: 'Partial Content' } };
  const changed = { 204: { description: 'No Content' } };
  const body = bodyName(shown);
  return {
    ...(methods.get && { get: operation(read, ...filters, ...paging) }),
    ...(methods.post && {
      post: operation({ 201: { description: 'Created' } }, body, 'select', 'preferPost'),
    }),
    ...(methods.patch && { patch: operation(changed, ...filters, body, 'preferReturn') }),
    ...(methods.delete && { delete: operation(changed, ...filters, 'preferReturn') }),
  };
}

/** Of several overloads the first one is described, as a path has one operation. */
function functionPath(overloads: Overloads, context: TypeContext): JsonSchema {
  const one = overloads[0] as Overloads[number];
  const readable = overloads.find(({ volatility }) => volatility !== 'volatile');
  const heading = {
    tags: [`(rpc) ${one.name}`],
    ...splitComment(overloads.find(({ comment }) => comment !== undefined)?.comment),
    produces: MEDIA.slice(0, 2),
    responses: { 200: OK },
  };
  const args = {
    name: 'args',
    required: true,
    in: 'body',
    schema: downgraded(argumentsSchema(one, context)),
  };
  return {
    ...(readable && {
      get: { ...heading, parameters: readable.arguments.flatMap((each) => argumentParameter(each, context)) },
    }),
    post: { ...heading, parameters: [args, reference('parameters', 'preferParams')] },
  };
}

function argumentParameter({ name, type, required, variadic }: Argument, context: TypeContext): JsonSchema[] {
  if (name === '' || RESERVED.has(name)) return [];
  const place = { name, required, in: 'query' };
  if (!variadic) return [{ ...place, ...queryType(type, context) }];
  const items = queryType(type.replace(/\[\]$/, ''), context);
  return [{ ...place, type: 'array', items, collectionFormat: 'multi' }];
}

/** In a query, structured values are texts in PostgreSQL's notation. */
function queryType(type: string, context: TypeContext): JsonSchema {
  const { type: found, format = type } = typeSchema(type, context);
  const isPlain = ['integer', 'number', 'boolean'].includes(String(found));
  return { type: isPlain ? found : 'string', format };
}

/** The rows of a table, as they are read. */
function definition(shown: ShownTable, context: TypeContext): JsonSchema {
  const [[, rows] = ['', {}]] = tableSchemas(shown, context);
  return downgraded(rows) as JsonSchema;
}

/** Members of schemas that OpenAPI 2.0 does not have. */
const UNKNOWN: ReadonlySet<string> = new Set(['writeOnly', 'x-primary-key', 'x-relationships']);

/** A schema of OpenAPI 3.1 in terms of 2.0, which knows neither null nor alternatives. */
function downgraded(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(downgraded);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { anyOf, ...members } = schema as JsonSchema & { readonly anyOf?: readonly unknown[] };
  if (anyOf) return downgraded(anyOf[0]);
  const kept = Object.entries(members).filter(([name]) => !UNKNOWN.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, member(name, value)]));
}

function member(name: string, value: unknown): unknown {
  if (name === 'properties') {
    const properties = Object.entries(value as JsonSchema);
    return Object.fromEntries(properties.map(([property, schema]) => [property, downgraded(schema)]));
  }
  if (name === 'type' && Array.isArray(value)) return value.find((type) => type !== 'null') as unknown;
  if (name === 'enum' && Array.isArray(value)) return value.filter((label) => label !== null);
  if (name === '$ref' && typeof value === 'string')
    return value.replace('#/components/schemas/', '#/definitions/');
  return name === 'items' ? downgraded(value) : value;
}
