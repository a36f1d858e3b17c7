import { LRUCache } from 'lru-cache';
import { rightsOf, type Schema } from '../schema/index.ts';
import { functionTools } from './function-tools.ts';
import { tableTools } from './table-tools.ts';
import type { Tool, ToolContext } from './tool.ts';

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
