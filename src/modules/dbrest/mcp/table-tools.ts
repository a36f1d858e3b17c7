import { noTable, wrongArguments } from '../fault/index.ts';
import { type JsonSchema, showTable, type ShownTable } from '../openapi/index.ts';
import { similarTable, type Table } from '../schema/index.ts';
import { OPEN_ARRAY } from '../json.ts';
import { Arguments, columnKey, OPERATORS, quoted } from './arguments.ts';
import { describedTable, listedTables } from './tables-shown.ts';
import { ADDS, CHANGES, READS, requestFor, type Tool, type ToolCall, type ToolContext } from './tool.ts';

const TABLE = { type: 'string', description: 'Name of a table or view, as list_tables gives it' };
const SELECT = {
  type: 'string',
  description:
    'Columns and related tables, separated by commas: "id,name", "id,total:amount.sum()", "name,orders(id,total)". Default: all columns.',
};
const FILTERS = {
  type: 'array',
  description: 'Conditions that all must hold',
  items: {
    type: 'object',
    required: ['column', 'value'],
    additionalProperties: false,
    properties: {
      column: {
        type: 'string',
        description:
          'A column, or a JSON path such as data->>city. In read_rows also a column of a related table in "select": customers.name chooses among the rows of customers, and with customers!inner(name) among those around them too',
      },
      operator: {
        type: 'string',
        enum: OPERATORS,
        default: 'eq',
        description:
          'like and ilike take * as wildcard; in takes an array; is takes null, true or false; match is a regular expression; cs, cd, ov compare arrays or JSON; fts, plfts, phfts, wfts search text',
      },
      value: { description: 'A text, number, boolean or null; an array for in, cs, cd, ov' },
      not: { type: 'boolean', description: 'The condition must not hold' },
    },
  },
};

const HAVING = {
  type: 'string',
  description:
    'A condition on groups, where "select" has sums or counts: "amount.sum().gt.100", "or(count().gt.1,amount.max().is.null)"',
};
const DISTINCT = { type: 'boolean', description: 'Equal rows of the selected columns come once' };
const ORDER = {
  type: 'string',
  description:
    'For example "name.asc,id.desc.nullslast", "amount.sum().desc", by a related row in "select" "customers(name)", by the number of related rows "orders(count).desc"',
};

/** The tools for tables and views. */
export function tableTools(context: ToolContext): readonly Tool[] {
  const reads = [listTables(context), describeTable(context), readRows(context)];
  return context.writes ? [...reads, insertRows(context), updateRows(context), deleteRows(context)] : reads;
}

function listTables(context: ToolContext): Tool {
  return {
    name: 'list_tables',
    description: 'Lists the tables and views of the database, and what may be done with each.',
    inputSchema: schemaOf(context, {
      after: { type: 'string', description: 'Lists the names behind this one: "next" of the list before' },
    }),
    annotations: READS,
    call(json, now) {
      const given = argumentsOf(json, now, ['after']);
      const schema = schemaIn(given, now);
      return { kind: 'result', json: listedTables(now, { schema, after: given.text('after') }) };
    },
  };
}

function describeTable(context: ToolContext): Tool {
  return {
    name: 'describe_table',
    description:
      'Describes a table or view: its columns with their types, its primary key, and what it is related to.',
    inputSchema: schemaOf(context, { table: TABLE }, ['table']),
    annotations: READS,
    call(json, now) {
      const given = argumentsOf(json, now, ['table']);
      return { kind: 'result', json: describedTable(tableIn(given, now), now) };
    },
  };
}

function readRows(context: ToolContext): Tool {
  const { mostRows } = context;
  const properties = {
    table: TABLE,
    select: SELECT,
    filters: FILTERS,
    having: HAVING,
    distinct: DISTINCT,
    order: ORDER,
    limit: { type: 'integer', minimum: 0, maximum: mostRows, default: Math.min(mostRows, USUAL_ROWS) },
    offset: { type: 'integer', minimum: 0 },
  };
  return {
    name: 'read_rows',
    description: `Reads rows of a table or view, at most ${mostRows}. The result is an array of objects in "rows".`,
    inputSchema: schemaOf(context, properties, ['table']),
    annotations: READS,
    call(json, now) {
      const given = argumentsOf(json, now, Object.keys(properties));
      const { table } = tableIn(given, now);
      const parameters = [
        ...given.filters('filters', (column) => columnKey(column, table.columns.has(column), true)),
        ...parameter('select', given.text('select')),
        ...parameter('having', given.text('having')),
        ...(given.flag('distinct') ? ['distinct=on.*'] : []),
        ...parameter('order', given.text('order')),
        `limit=${given.count('limit', now.mostRows) ?? Math.min(now.mostRows, USUAL_ROWS)}`,
        ...parameter('offset', given.count('offset', Number.MAX_SAFE_INTEGER)?.toString()),
      ];
      const request = requestFor('GET', `/${table.name}`, { schema: table.schema, parameters });
      return { kind: 'request', request, readOnly: true, member: 'rows' };
    },
  };
}

/** Rows that are read without a limit. */
const USUAL_ROWS = 100;

const RETURNING = {
  ...SELECT,
  description: 'Columns of the written rows to return; without it, their number',
};

const NESTED =
  '. A row may have rows of related tables in it, in members with the names of these tables: an array, or an object for one';

function insertRows(context: ToolContext): Tool {
  const rows = {
    type: ['object', 'array'],
    description: `A row as an object, or an array of rows with the same columns${context.nests ? NESTED : ''}`,
  };
  return {
    name: 'insert_rows',
    description: 'Inserts rows into a table.',
    inputSchema: schemaOf(context, { table: TABLE, rows, returning: RETURNING }, ['table', 'rows']),
    annotations: ADDS,
    call(json, now) {
      const given = argumentsOf(json, now, ['table', 'rows', 'returning']);
      return written(given, now, {
        method: 'POST',
        body: given.json('rows', 'object or array'),
        filters: [],
      });
    },
  };
}

function updateRows(context: ToolContext): Tool {
  const values = {
    type: ['object', 'array'],
    description:
      'The new values by column; or an array of objects with the same columns, each with the primary key of the row that it changes, which needs no filter',
  };
  return {
    name: 'update_rows',
    description:
      'Changes the rows of a table for which all filters hold, or each row of a list by its primary key. Without a list at least one filter is needed.',
    inputSchema: schemaOf(context, { table: TABLE, filters: SOME_FILTERS, values, returning: RETURNING }, [
      'table',
      'values',
    ]),
    annotations: CHANGES,
    call(json, now) {
      const given = argumentsOf(json, now, ['table', 'filters', 'values', 'returning']);
      const body = given.json('values', 'object or array');
      const filters = body[0] === OPEN_ARRAY ? byKey(given, now) : someFilters(given, now);
      return written(given, now, { method: 'PATCH', body, filters });
    },
  };
}

/** The parameters of an update by keys. They name the key: a list of one object without it would change all rows. */
function byKey(given: Arguments, now: ToolContext): readonly string[] {
  const { table } = tableIn(given, now);
  if (table.primaryKey.length === 0)
    throw wrongArguments('"values" is an object, because the table has no primary key');
  const key = table.primaryKey.map(quoted).join(',');
  return [...filtersOf(given, table), ...parameter('on_conflict', key)];
}

function deleteRows(context: ToolContext): Tool {
  return {
    name: 'delete_rows',
    description:
      'Deletes the rows of a table for which all filters hold. At least one filter is needed: rows of a list are deleted by one with the operator in.',
    inputSchema: schemaOf(context, { table: TABLE, filters: SOME_FILTERS, returning: RETURNING }, [
      'table',
      'filters',
    ]),
    annotations: { ...CHANGES, idempotentHint: true },
    call(json, now) {
      const given = argumentsOf(json, now, ['table', 'filters', 'returning']);
      return written(given, now, { method: 'DELETE', body: undefined, filters: someFilters(given, now) });
    },
  };
}

const SOME_FILTERS = { ...FILTERS, minItems: 1 };

/**
 * Without a filter all rows would be changed, which no client of a tool means. A filter on an embedded relation does
 * not count, because it need not restrict the rows that are changed.
 */
function someFilters(given: Arguments, now: ToolContext): readonly string[] {
  const filters = filtersOf(given, tableIn(given, now).table);
  if (filters.length === 0) throw wrongArguments('"filters" has at least one filter');
  return filters;
}

function filtersOf(given: Arguments, { columns }: Table): readonly string[] {
  return given.filters('filters', (column) => columnKey(column, columns.has(column), false));
}

interface Written {
  readonly method: string;
  readonly body: Buffer | undefined;
  readonly filters: readonly string[];
}

function written(given: Arguments, now: ToolContext, { method, body, filters }: Written): ToolCall {
  const { table } = tableIn(given, now);
  const returning = given.text('returning');
  const prefer = returning === undefined ? 'return=minimal, count=exact' : 'return=representation';
  const parameters = [...filters, ...parameter('select', returning)];
  const request = requestFor(method, `/${table.name}`, { schema: table.schema, parameters, prefer, body });
  return { kind: 'request', request, readOnly: false, member: 'rows' };
}

function parameter(name: string, value: string | undefined): readonly string[] {
  return value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`];
}

/** The schema of arguments, with "schema" where there are several. */
function schemaOf(
  { schemas }: ToolContext,
  properties: JsonSchema,
  required: readonly string[] = [],
): JsonSchema {
  const schema = { type: 'string', enum: schemas, default: schemas[0] };
  return {
    type: 'object',
    properties: { ...(schemas.length > 1 && { schema }), ...properties },
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function argumentsOf(
  json: Buffer | undefined,
  { schemas }: ToolContext,
  names: readonly string[],
): Arguments {
  return new Arguments(json, schemas.length > 1 ? ['schema', ...names] : names);
}

function schemaIn(given: Arguments, { schemas }: ToolContext): string {
  const schema = given.text('schema') ?? (schemas[0] as string);
  if (!schemas.includes(schema)) throw wrongArguments(`"schema" is one of ${schemas.join(', ')}`);
  return schema;
}

/** The table that is named, if the role may use it. Throws PGRST205. */
function tableIn(given: Arguments, now: ToolContext): ShownTable {
  const schema = schemaIn(given, now);
  const name = given.text('table');
  if (name === undefined) throw wrongArguments('"table" is the name of a table');
  const shownAs = (table: Table): ShownTable | undefined =>
    now.rights.usesSchema(schema) && !table.name.includes('/') ? showTable(table, now.rights)[0] : undefined;
  const table = now.known.tables.get(schema)?.get(name);
  const shown = table && shownAs(table);
  if (shown) return shown;
  const target = { schema, table: name };
  throw noTable(
    schema,
    name,
    similarTable(target, now.known, (other) => shownAs(other) !== undefined),
  );
}
