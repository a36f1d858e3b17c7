import { qualifiedName, type Schema, splitModifier, type TypeShape } from '../schema/index.ts';

/**
 * Characters that are not allowed in component names (OpenAPI 3.1, "Components Object"), and the dot, which serves as
 * the escape character.
 */
const FORBIDDEN = /[^\w-]/gu;

/**
 * The component name of a table or function. Characters that are not allowed are written as `.hex.`, so that names stay
 * distinct, also from those with a suffix after a single dot.
 */
export function componentName(name: string): string {
  return name.replace(FORBIDDEN, (character) => `.${(character.codePointAt(0) as number).toString(16)}.`);
}

/** A reference to a component. */
export function reference(kind: 'schemas' | 'parameters' | 'responses', name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** A reference to a property of a schema; `undefined` if its name would need escaping, which not all tools support. */
export function propertyReference(name: string, property: string): { $ref: string } | undefined {
  if (!/^[\w-]+$/.test(property)) return undefined;
  return { $ref: `#/components/schemas/${name}/properties/${property}` };
}

/** Splits a comment into its first line and the rest. */
export function splitComment(comment: string | undefined): { summary?: string; description?: string } {
  if (comment === undefined) return {};
  const [summary = '', description = ''] = comment.split(/\r?\n(.*)/s).map((part) => part.trim());
  return { ...(summary !== '' && { summary }), ...(description !== '' && { description }) };
}

/** JSON Schema 2020-12, as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The schema cache, and the tables that have components. */
export interface TypeContext {
  readonly known: Schema;
  /** True if the rows of a table have a component. */
  readonly hasComponent: (schema: string, table: string) => boolean;
  /** Present with `dbrest_nested_insert`: true if rows of a table can be inserted. */
  readonly nests?: ((schema: string, table: string) => boolean) | undefined;
}

/** Types that `to_json` does not convert to strings. */
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
/** Types whose modifier is a maximum length. */
const SIZED: ReadonlySet<string> = new Set(['character varying', 'character', 'bit', 'bit varying']);
/** Composite types nested more deeply are described as plain objects. */
const DEEPEST = 4;

/**
 * The JSON schema of a type printed by `format_type`. As in PostgREST, `format` is the type without its modifier, for a
 * domain that of its base; `x-pg-type` is the full type if it differs.
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

/** Allows null in addition. */
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

/** The schema of a column whose type is the row type of a table. */
function rowSchema(type: string, { known, hasComponent }: TypeContext): JsonSchema | undefined {
  const { schema, name } = qualifiedName(type) ?? { schema: '', name: '' };
  if (!known.tables.get(schema)?.has(name)) return undefined;
  return hasComponent(schema, name)
    ? reference('schemas', componentName(name))
    : { type: 'object', format: type };
}

const PIECE_CHARACTERS = 65_536;

/** Writes the members of a JSON object as bytes, so that no large text has to be encoded at the end. */
export class MemberWriter {
  readonly #pieces: Buffer[] = [];
  #text = '';
  #isEmpty = true;

  add(name: string, value: object): void {
    this.#begin(name);
    this.#text += JSON.stringify(value);
    if (this.#text.length > PIECE_CHARACTERS) this.#flush();
  }

  addAll(entries: Iterable<readonly [name: string, value: object]>): void {
    for (const [name, value] of entries) this.add(name, value);
  }

  /** Adds a nested object, whose members must be complete. */
  addMembers(name: string, members: MemberWriter): void {
    this.#begin(name);
    this.#text += '{';
    this.#flush();
    this.#pieces.push(...members.pieces());
    this.#text += '}';
  }

  pieces(): readonly Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  #begin(name: string): void {
    this.#text += `${this.#isEmpty ? '' : ','}${JSON.stringify(name)}:`;
    this.#isEmpty = false;
  }

  #flush(): void {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}
