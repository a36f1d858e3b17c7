import type { BoundBlock, BoundField } from './bind.ts';
import type { Field, Registry } from './registry.ts';
import type { Context } from './row.ts';

/** A module's config in one block with inheritance applied. Blocks that change nothing share their parent's object. */
export interface ResolvedConfig {
  readonly value: Readonly<Record<string, unknown>>;
  /** The directives that set the fields; fields with their default are absent. */
  readonly from: ReadonlyMap<string, BoundField>;
}

/** The configs of all modules in one block, by module name. */
export interface ResolvedConfigs {
  get(owner: string): ResolvedConfig | undefined;
}

/**
 * The configs of a block: its own value of a field, else the inherited one, else the default (nginx's merge functions).
 * Unchanged configs are shared: most of ten thousand locations set two fields of one module.
 */
export function resolve(
  registry: Registry,
  block: BoundBlock,
  parent: ResolvedConfigs | undefined,
): ResolvedConfigs {
  const changed = new Map<string, ResolvedConfig>();
  const owners = parent ? new Set([...registry.narrowing.keys(), ...block.own.keys()]) : registry.owners;
  for (const owner of owners) {
    const config = resolveOwner(owner, { registry, block, parent });
    if (config !== parent?.get(owner)) changed.set(owner, config);
  }
  if (!parent) return changed;
  return changed.size === 0 ? parent : { get: (owner) => changed.get(owner) ?? parent.get(owner) };
}

interface ResolveOptions {
  readonly registry: Registry;
  readonly block: BoundBlock;
  readonly parent: ResolvedConfigs | undefined;
}

const NONE: readonly never[] = [];

/**
 * Inherited configs without the fields that are not inherited, for blocks that set nothing. All locations of a server
 * share the one without its `listen` and `server_name`.
 */
const narrowed = new WeakMap<ResolvedConfig, Map<boolean, ResolvedConfig>>();

function resolveOwner(owner: string, options: ResolveOptions): ResolvedConfig {
  const { registry, block, parent } = options;
  const inherited = parent?.get(owner);
  if (!inherited) return defaultsWith(block.own.get(owner), registry.fields(owner));
  if (block.own.has(owner)) return inheriting(owner, inherited, options);
  const known = narrowed.get(inherited) ?? new Map<boolean, ResolvedConfig>();
  narrowed.set(inherited, known);
  const isNameless = NAMELESS.has(block.context);
  const config = known.get(isNameless) ?? inheriting(owner, inherited, options);
  known.set(isNameless, config);
  return config;
}

function inheriting(
  owner: string,
  inherited: ResolvedConfig,
  { registry, block }: ResolveOptions,
): ResolvedConfig {
  const own = block.own.get(owner);
  const narrow = (registry.narrowing.get(owner) ?? NONE).filter(([name]) => inherited.from.has(name));
  const modeOf = ({ inheritBy = '' }: Field): unknown =>
    (own?.get(inheritBy) ?? inherited.from.get(inheritBy))?.value;
  const hidden = narrow.filter(([, field]) => !comesDown(field.inherit, block) || modeOf(field) === 'off');
  if (!own && hidden.length === 0) return inherited;

  const value: Record<string, unknown> = { ...inherited.value };
  const from = new Map(inherited.from);
  for (const [name, field] of hidden) {
    from.delete(name);
    if (field.default === undefined) delete value[name];
    else value[name] = field.default;
  }
  const fields = registry.fields(owner);
  for (const [name, given] of own ?? []) {
    const field = completed(given, fields.get(name), {
      above: inherited.value[name],
      from: inherited.from.get(name),
    });
    from.set(name, field);
    value[name] = field.value;
  }
  for (const [name, field] of narrow) {
    if (own?.has(name) && modeOf(field) === 'merge') merge(name, { value, from, above: inherited });
  }
  return { value, from };
}

interface Above {
  readonly above: unknown;
  /** Absent if it is the default. */
  readonly from: BoundField | undefined;
}

function completed(field: BoundField, facts: Field | undefined, { above, from }: Above): BoundField {
  if (!facts?.completedBy || above === undefined) return field;
  const value = facts.completedBy(field.value as never, above as never);
  return { ...field, value, missing: field.missing ?? from?.missing };
}

interface MergedList {
  readonly value: Record<string, unknown>;
  readonly from: Map<string, BoundField>;
  readonly above: ResolvedConfig;
}

/** Appends the inherited list to the block's own (nginx `add_header_inherit merge`). */
function merge(name: string, { value, from, above }: MergedList): void {
  const [own, inherited] = [from.get(name), above.from.get(name)] as [BoundField, BoundField];
  const joined = [...(own.value as unknown[]), ...(inherited.value as unknown[])];
  value[name] = joined;
  const both = { spans: [...own.spans, ...inherited.spans], nodes: [...own.nodes, ...inherited.nodes] };
  from.set(name, { ...own, ...both, value: joined, missing: own.missing ?? inherited.missing });
}

function defaultsWith(
  own: ReadonlyMap<string, BoundField> = new Map(),
  fields: ReadonlyMap<string, Field>,
): ResolvedConfig {
  const value: Record<string, unknown> = {};
  for (const [name, field] of fields) {
    const chosen = own.has(name) ? own.get(name)?.value : field.default;
    if (chosen !== undefined) value[name] = chosen;
  }
  return { value, from: own };
}

function comesDown(inherit: Field['inherit'], { context }: BoundBlock): boolean {
  return inherit === true || (inherit === 'nameless' && NAMELESS.has(context));
}

/** Blocks that replace the enclosing location for some of its requests. */
const NAMELESS: ReadonlySet<Context> = new Set<Context>(['location if', 'server if', 'limit_except']);
