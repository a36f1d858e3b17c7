import type { Schema, TypeShape } from '../schema/index.ts';

/** Names that a component may have (OpenAPI 3.1, "Components Object"), without the dot, which escapes here. */
const FORBIDDEN = /[^\w-]/gu;

/**
 * The name of a table's or function's component: characters that have no place there come as `.hex.`, so that no two
 * names become one. With a word behind a single dot, other names never come out alike.
 */
export function componentName(name: string): string {
  return name.replace(FORBIDDEN, (character) => `.${(character.codePointAt(0) as number).toString(16)}.`);
}

/** A reference to a component. */
export function reference(kind: 'schemas' | 'parameters' | 'responses', name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** A reference to a property of a schema; `undefined` where its name has to be escaped, which not every tool undoes. */
export function propertyReference(name: string, property: string): { $ref: string } | undefined {
  if (!/^[\w-]+$/.test(property)) return undefined;
  return { $ref: `#/components/schemas/${name}/properties/${property}` };
}

/** A comment as a title and what follows it. */
export function splitComment(comment: string | undefined): { summary?: string; description?: string } {
  if (comment === undefined) return {};
  const [summary = '', description = ''] = comment.split(/\r?\n(.*)/s).map((part) => part.trim());
  return { ...(summary !== '' && { summary }), ...(description !== '' && { description }) };
}

/** JSON Schema 2020-12, as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What the schemas of types are looked up in. */
export interface TypeContext {
  readonly known: Schema;
  /** Rows of this table have a component of their own. */
  readonly hasComponent: (schema: string, table: string) => boolean;
}

/** Types whose JSON form is no text (PostgreSQL, `to_json`). */
const JSON_TYPES: ReadonlyMap<string, string> = new Map([
  ['smallint', 'integer'],
  ['integer', 'integer'],
  ['bigint', 'integer'],
  ['real', 'number'],
  ['double precision', 'number'],
  ['numeric', 'number'],
  ['boolean', 'boolean'],
]);
const ANY_JSON: ReadonlySet<string> = new Set(['json', 'jsonb']);
/** Their modifier is a number of characters. */
const SIZED: ReadonlySet<string> = new Set(['character varying', 'character', 'bit', 'bit varying']);
/** Composites in composites: what lies deeper is just an object. */
const DEEPEST = 4;

/**
 * The JSON form of a value of a type that `format_type` printed. `format` is the type without its modifier, of a domain
 * that of its base, as PostgREST has it; `x-pg-type` is what differs from that.
 */
export function typeSchema(type: string, context: TypeContext, depth = 0): JsonSchema {
  if (type.endsWith('[]')) {
    return {
      type: 'array',
      format: type,
      items: nullable(typeSchema(type.slice(0, -2), context, depth)),
    };
  }
  const shape = context.known.shapes?.get(type);
  if (shape) return shapeSchema(type, shape, { context, depth });
  const row = rowSchema(type, context);
  if (row) return row;
  const { name, modifier } = splitModifier(type);
  const length = SIZED.has(name) && modifier !== undefined ? Number(modifier) : undefined;
  return {
    ...(!ANY_JSON.has(name) && { type: JSON_TYPES.get(name) ?? 'string' }),
    format: name,
    ...(length !== undefined && { maxLength: length }),
    ...(modifier !== undefined && { 'x-pg-type': type }),
  };
}

/** The same value, or null. */
export function nullable(schema: JsonSchema): JsonSchema {
  const { type, enum: values } = schema;
  if ('$ref' in schema) return { anyOf: [schema, { type: 'null' }] };
  if (typeof type !== 'string') return schema;
  return {
    ...schema,
    type: [type, 'null'],
    ...(Array.isArray(values) && { enum: [...(values as unknown[]), null] }),
  };
}

function shapeSchema(
  type: string,
  shape: TypeShape,
  { context, depth }: { context: TypeContext; depth: number },
): JsonSchema {
  const described = shape.comment === undefined ? {} : { description: shape.comment };
  switch (shape.kind) {
    case 'enum':
      return { type: 'string', format: type, enum: shape.labels, ...described };
    case 'domain': {
      const base = typeSchema(shape.base, context, depth);
      return { ...base, ...described, 'x-pg-type': type };
    }
    case 'composite': {
      const fields = depth < DEEPEST ? shape.fields : [];
      const properties = fields.map(
        ([name, of]) => [name, nullable(typeSchema(of, context, depth + 1))] as const,
      );
      return { type: 'object', format: type, properties: Object.fromEntries(properties), ...described };
    }
    case 'json':
      return { format: type, ...described };
  }
}

const QUALIFIED = /^("(?:[^"]|"")+"|[^".]+)\.("(?:[^"]|"")+"|[^".]+)$/;

/** A column may hold a row of a table. */
function rowSchema(type: string, { known, hasComponent }: TypeContext): JsonSchema | undefined {
  const [schema = '', table = ''] = QUALIFIED.exec(type)?.slice(1).map(unquoted) ?? [];
  if (!known.tables.get(schema)?.has(table)) return undefined;
  return hasComponent(schema, table)
    ? reference('schemas', componentName(table))
    : { type: 'object', format: type };
}

function unquoted(identifier: string): string {
  return identifier.startsWith('"') ? identifier.slice(1, -1).replaceAll('""', '"') : identifier;
}

/** `timestamp(3) with time zone` is of the type `timestamp with time zone`. */
function splitModifier(type: string): { name: string; modifier: string | undefined } {
  const found = (type.includes('"') ? /\(([^()"]*)\)$/ : /\(([^()]*)\)/).exec(type);
  if (!found) return { name: type, modifier: undefined };
  return { name: type.replace(found[0], ''), modifier: found[1] };
}
