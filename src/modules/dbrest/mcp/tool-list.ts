import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { argumentsSchema, callable, type JsonSchema, type Overloads } from '../openapi/index.ts';
import { rightsOf, type Schema } from '../schema/index.ts';
import { objectOf } from './arguments.ts';
import { tableTools } from './table-tools.ts';
import { CHANGES, READS, requestFor, type Tool, type ToolContext } from './tool.ts';

/** Roles whose tools are kept. */
const MOST_ROLES = 16;
/** Tools in one page of a list. */
const PAGE_TOOLS = 100;

/** The tools of a role, with the schema that they were made from. */
export interface RoleTools {
  readonly context: ToolContext;
  readonly byName: ReadonlyMap<string, Tool>;
}

/** The tools of a location by role, made again when the schema changes. */
export class ToolLists {
  readonly #options: Omit<ToolContext, 'known' | 'rights'>;
  readonly #byRole = new LRUCache<string, RoleTools>({ max: MOST_ROLES });
  #known: Schema | undefined;

  constructor(options: Omit<ToolContext, 'known' | 'rights'>) {
    this.#options = options;
  }

  of(role: string, known: Schema): RoleTools {
    if (known !== this.#known) this.#byRole.clear();
    this.#known = known;
    const kept = this.#byRole.get(role);
    if (kept) return kept;
    const context = { ...this.#options, known, rights: rightsOf(role, known) };
    const tools = [...(context.functionPath === '/' ? [] : tableTools(context)), ...functionTools(context)];
    const made = { context, byName: new Map(tools.map((tool) => [tool.name, tool])) };
    this.#byRole.set(role, made);
    return made;
  }
}

/** A page of tools as JSON; `undefined` for a cursor that gw has not given. */
export function toolsPage({ byName }: RoleTools, cursor: string | undefined): string | undefined {
  const from = cursor === undefined ? 0 : /^\d{1,9}$/.test(cursor) ? Number(cursor) : -1;
  if (from < 0 || (cursor !== undefined && from >= byName.size)) return undefined;
  const tools = [...byName.values()].slice(from, from + PAGE_TOOLS);
  const next = from + PAGE_TOOLS < byName.size ? String(from + PAGE_TOOLS) : undefined;
  const shown = tools.map(({ name, description, inputSchema, annotations }) => ({
    name,
    description,
    inputSchema,
    annotations,
  }));
  return JSON.stringify({ tools: shown, nextCursor: next });
}

/** Longest name of a tool that all clients take. */
const LONGEST_NAME = 64;
const DIGEST_LENGTH = 8;
const NO_ARGUMENTS = Buffer.from('{}');

/** One tool for each function that the role may call: only those that cannot write, unless the tools may. */
function functionTools(context: ToolContext): readonly Tool[] {
  const { known, rights, schemas, functionPath } = context;
  if (functionPath === undefined) return [];
  const names = new Set<string>();
  return schemas
    .filter((schema) => rights.usesSchema(schema))
    .flatMap((schema) =>
      callable(known.functions?.get(schema), rights).flatMap((overloads) =>
        toolOf(overloads, { ...context, schema, names }),
      ),
    );
}

/** The input for the tools of one schema. `names`: the names that are taken. */
interface SchemaContext extends ToolContext {
  readonly schema: string;
  readonly names: Set<string>;
}

function toolOf(overloads: Overloads, context: SchemaContext): readonly Tool[] {
  const { known, writes, schema, schemas, functionPath } = context;
  const [first] = overloads;
  if (!first || first.name.includes('/')) return [];
  const { name } = first;
  // Which overload is called depends on the arguments, so one that may write counts for all of them.
  const all = known.functions?.get(schema)?.get(name) ?? overloads;
  const readOnly = all.every(({ isProcedure, volatility }) => isProcedure || volatility !== 'volatile');
  const named = overloads.filter(isForTools);
  if ((!readOnly && !writes) || named.length === 0) return [];
  const own = schema === schemas[0] ? name : `${schema}_${name}`;
  const comment = overloads.find((one) => one.comment !== undefined)?.comment;
  return [
    {
      name: toolName(own, context),
      description: comment ?? `Calls the function ${name} of the database.`,
      inputSchema: inputSchema(named, context),
      annotations: readOnly ? READS : CHANGES,
      call(json) {
        const path = `${functionPath}${name}`;
        const request = requestFor('POST', path, { schema, body: objectOf(json) ?? NO_ARGUMENTS });
        return { kind: 'request', request, readOnly, member: 'result' };
      },
    },
  ];
}

/** Returns whether all arguments of a function have names and its result is JSON. */
function isForTools({ arguments: list, mediaType }: Overloads[0]): boolean {
  return mediaType === undefined && list.every(({ name }) => name !== '');
}

/** The schema of the arguments. With several overloads it has the arguments of all of them, and requires none. */
function inputSchema(overloads: Overloads, { known }: ToolContext): JsonSchema {
  const types = { known, hasComponent: () => false };
  const schemas = overloads.map((one) => argumentsSchema(one, types));
  if (schemas.length === 1) return { ...schemas[0], additionalProperties: false };
  const properties: object = Object.assign({}, ...schemas.map((schema) => schema['properties']));
  return { type: 'object', properties, additionalProperties: false };
}

/** The name of a tool. One with other characters, too many of them, or that is taken gets a digest of its function. */
function toolName(own: string, { schema, names }: SchemaContext): string {
  const whole = `call_${own}`;
  const plain = whole.replace(/[^a-zA-Z0-9_-]/g, '_');
  const isFit = plain === whole && whole.length <= LONGEST_NAME && !names.has(whole);
  const digest = createHash('sha256')
    .update(JSON.stringify([schema, own]))
    .digest('hex');
  const short = plain.slice(0, LONGEST_NAME - DIGEST_LENGTH - 1);
  const name = isFit ? whole : `${short}_${digest.slice(0, DIGEST_LENGTH)}`;
  names.add(name);
  return name;
}
