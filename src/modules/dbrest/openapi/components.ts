import { BINARY_OPERATORS, SEARCH_OPERATORS } from '../request/index.ts';
import { type JsonSchema, reference } from './json-schema.ts';

const TEXT: JsonSchema = { type: 'string' };

function inQuery(name: string, description: string, schema: JsonSchema = TEXT): JsonSchema {
  return { name, in: 'query', description, schema };
}

function inHeader(name: string, description: string, schema: JsonSchema = TEXT): JsonSchema {
  return { name, in: 'header', description, schema };
}

/** The `Prefer` parameter with the preferences of one kind of operation, as a list. */
function prefer(...preferences: readonly string[]): JsonSchema {
  const values = [...preferences, 'handling=strict', 'handling=lenient', 'tx=commit', 'tx=rollback'];
  const items = {
    anyOf: [{ enum: values }, { type: 'string', pattern: '^(timezone|max-affected|timeout)=' }],
  };
  return inHeader('Prefer', 'Preferences', { type: 'array', items });
}

const COUNTS = ['count=exact', 'count=planned', 'count=estimated'] as const;
const RETURNS = ['return=minimal', 'return=headers-only', 'return=representation'] as const;

/** Shared parameters by the names of their components. */
export const SHARED_PARAMETERS = {
  select: inQuery('select', 'Columns and embedded relations, for example `id,name,orders(total)`'),
  having: inQuery(
    'having',
    'Filter of groups by an aggregate, for example `amount.sum().gt.100`, `or(count().gt.1,amount.max().is.null)`',
  ),
  distinct: inQuery(
    'distinct',
    '`on.*`: equal rows come once; `on.(city)`: of rows that are equal in these columns the first by `order`',
    { type: 'string', pattern: '^on\\.(\\*|\\(.+\\))$' },
  ),
  order: inQuery(
    'order',
    'Order of the rows, for example `name.asc,id.desc.nullslast`; by a related row `client(name)`, by related rows `orders(count).desc`',
  ),
  limit: inQuery('limit', 'Most rows', { type: 'integer', minimum: 0 }),
  offset: inQuery('offset', 'Rows to skip', { type: 'integer', minimum: 0 }),
  and: inQuery('and', 'Filters that all must hold, for example `(id.gt.1,name.eq.x)`'),
  or: inQuery('or', 'Filters of which at least one must hold, for example `(id.gt.1,name.eq.x)`'),
  columns: inQuery('columns', 'Columns to take from the body; others are ignored'),
  on_conflict: inQuery('on_conflict', 'Columns that identify existing rows'),
  range: inHeader('Range', 'Rows from first to last, for example `0-9`'),
  rangeUnit: inHeader('Range-Unit', 'Unit of the range', { type: 'string', default: 'items' }),
  preferRead: prefer(...COUNTS),
  preferInsert: prefer(
    ...RETURNS,
    ...COUNTS,
    'resolution=merge-duplicates',
    'resolution=ignore-duplicates',
    'missing=default',
    'missing=null',
  ),
  preferUpdate: prefer(...RETURNS, ...COUNTS, 'missing=default', 'missing=null'),
  preferDelete: prefer(...RETURNS, ...COUNTS),
  preferCall: prefer(...COUNTS, 'params=single-object'),
} as const satisfies Readonly<Record<string, JsonSchema>>;

/** The profile headers, if the location serves several schemas. */
export function profileParameters(schemas: readonly string[]): Readonly<Record<string, JsonSchema>> {
  if (schemas.length < 2) return {};
  const schema = { type: 'string', enum: schemas, default: schemas[0] };
  return {
    acceptProfile: inHeader('Accept-Profile', 'Schema to read', schema),
    contentProfile: inHeader('Content-Profile', 'Schema to write', schema),
  };
}

/** References to shared parameters. */
export function shared(...names: readonly (keyof typeof SHARED_PARAMETERS)[]): readonly JsonSchema[] {
  return names.map((name) => reference('parameters', name));
}

/** Names of query parameters that are not filters. */
export const RESERVED: ReadonlySet<string> = new Set([
  'select',
  'order',
  'limit',
  'offset',
  'and',
  'or',
  'columns',
  'on_conflict',
]);

const OPERATORS = [...BINARY_OPERATORS.keys(), ...SEARCH_OPERATORS.keys(), 'in', 'is'].join('|');

/** The component name of the schema below; the dot keeps it distinct from those of tables. */
export const FILTER_SCHEMA_NAME = 'row.filter';

/** The schema of a filter: `operator.value`. */
export const FILTER_SCHEMA: JsonSchema = {
  type: 'string',
  description: 'An operator and a value, for example `eq.1`, `not.in.(a,b)`, `like(any).{a*,b*}`',
  pattern: `^(not\\.)?(${OPERATORS})(\\([^)]*\\))?\\.`,
};

/** The filter by one column. */
export function rowFilter(column: string, comment: string | undefined): JsonSchema {
  return {
    name: column,
    in: 'query',
    ...(comment !== undefined && { description: comment }),
    schema: reference('schemas', FILTER_SCHEMA_NAME),
  };
}

/** The name of the component below; the dot keeps it distinct from those of tables. */
const ERROR_NAME = 'any.error';

/** The response of all errors. */
export const ERROR: JsonSchema = reference('responses', ERROR_NAME);
export const NO_CONTENT: JsonSchema = { description: 'No Content' };

const NULLABLE_TEXT = { type: ['string', 'null'] };

/** Shared responses by the names of their components. */
export const SHARED_RESPONSES: Readonly<Record<string, JsonSchema>> = {
  [ERROR_NAME]: {
    description: 'Error',
    headers: { 'Proxy-Status': { description: 'The code of the error', schema: { type: 'string' } } },
    content: {
      'application/json': {
        schema: {
          type: 'object',
          required: ['code', 'message'],
          properties: {
            code: { type: 'string' },
            details: { type: ['string', 'array', 'null'] },
            hint: NULLABLE_TEXT,
            message: { type: 'string' },
          },
        },
      },
    },
  },
};

/** The conditional requests that an API supports. */
interface ConditionFacts {
  /** Reads have an `ETag`. */
  readonly hasTags: boolean;
  /** Rows have versions, so that writes take `If-Match`. */
  readonly hasVersions: boolean;
}

/** The headers as shared parameters. */
export const CONDITION_PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  ifMatch: tags('If-Match', 'Versions of the rows, for example `"3"`, or `*`; otherwise the response is 412'),
  ifNoneMatch: tags('If-None-Match', 'Entity tags that the client has; with one of them the response is 304'),
  ifAbsent: tags('If-None-Match', '`*`: creates a row only; if it is there, the response is 412'),
};

function tags(name: string, description: string): JsonSchema {
  return { name, in: 'header', description, schema: { type: 'string' } };
}

const NOT_MODIFIED: JsonSchema = { 304: { description: 'Not Modified' } };
const FAILED: JsonSchema = { 412: ERROR };

/** Adds conditions to the operations of a path. */
export function withConditions(path: JsonSchema, { hasTags, hasVersions }: ConditionFacts): JsonSchema {
  const added: Readonly<Record<string, readonly [parameters: readonly string[], responses: JsonSchema]>> = {
    ...(hasTags && { get: [['ifNoneMatch', 'ifMatch'], { ...NOT_MODIFIED, ...FAILED }] }),
    ...(hasVersions && {
      put: [['ifMatch', 'ifAbsent'], FAILED],
      patch: [['ifMatch'], FAILED],
      delete: [['ifMatch'], FAILED],
    }),
  };
  const operations = Object.entries(path).map(([method, operation]) => {
    const more = added[method];
    return [method, more ? withMore(operation as Operation, more) : operation] as const;
  });
  return Object.fromEntries(operations);
}

interface Operation {
  readonly parameters?: readonly JsonSchema[];
  readonly responses?: JsonSchema;
}

function withMore(
  operation: Operation,
  [names, responses]: readonly [parameters: readonly string[], responses: JsonSchema],
): JsonSchema {
  const parameters = [...(operation.parameters ?? []), ...names.map((name) => reference('parameters', name))];
  return { ...operation, parameters, responses: { ...operation.responses, ...responses } };
}

const ITEM: JsonSchema = {
  type: 'object',
  required: ['path'],
  additionalProperties: false,
  properties: {
    method: {
      type: 'string',
      enum: ['GET', 'HEAD', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE'],
      default: 'GET',
    },
    path: { type: 'string', description: 'Path and query below this API, for example `/items?id=eq.1`' },
    headers: { type: 'object', additionalProperties: { type: 'string' } },
    body: { description: 'JSON, or a text for another Content-Type' },
  },
};

const RESPONSE: JsonSchema = {
  type: 'object',
  required: ['status', 'headers'],
  properties: {
    status: { type: 'integer' },
    headers: { type: 'object' },
    body: { description: 'JSON, or a text for another Content-Type; absent if there is none' },
    encoding: { type: 'string', enum: ['base64'] },
  },
};

/** The operation of batches. */
export const BATCH_PATH: JsonSchema = {
  post: {
    tags: ['Batches'],
    summary: 'Runs requests in one transaction: all of them, or none',
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { type: 'array', items: ITEM } } },
    },
    responses: {
      200: {
        description: 'The responses, in the order of the requests',
        content: { 'application/json': { schema: { type: 'array', items: RESPONSE } } },
      },
      default: ERROR,
    },
  },
};
