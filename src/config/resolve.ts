import type { BoundBlock, BoundField } from './bound.ts';
import type { Field, Registry } from './registry.ts';
import type { Context } from './row.ts';

/** A module's config at one place, inheritance done. Blocks that change nothing share their parent's object. */
export interface ResolvedConfig {
  readonly value: Readonly<Record<string, unknown>>;
  /** Which directive gave a field, and where; absent fields have their default. */
  readonly from: ReadonlyMap<string, BoundField>;
}

/** The configs of all modules at one place, by module name. */
export type ResolvedConfigs = ReadonlyMap<string, ResolvedConfig>;

/** Child value, else the parent's where the field comes down, else the default (nginx's merge functions). */
export function resolve(
  registry: Registry,
  block: BoundBlock,
  parent: ResolvedConfigs | undefined,
): ResolvedConfigs {
  return new Map(registry.owners.map((owner) => [owner, resolveOwner(owner, { registry, block, parent })]));
}

interface Resolving {
  readonly registry: Registry;
  readonly block: BoundBlock;
  readonly parent: ResolvedConfigs | undefined;
}

function resolveOwner(owner: string, { registry, block, parent }: Resolving): ResolvedConfig {
  const inherited = parent?.get(owner);
  const own = block.own.get(owner);
  const fields = registry.fields(owner);
  const comesDown = ({ inherit }: Field): boolean =>
    inherit === true || (inherit === 'nameless' && NAMELESS.has(block.context));
  const modeOf = ({ inheritBy = '' }: Field): unknown =>
    (own?.get(inheritBy) ?? inherited?.from.get(inheritBy))?.value ?? fields.get(inheritBy)?.default;
  const isSeen = (name: string): boolean => {
    const field = fields.get(name) as Field;
    return comesDown(field) && modeOf(field) !== 'off';
  };
  if (inherited && !own && [...inherited.from.keys()].every(isSeen)) return inherited;

  const value: Record<string, unknown> = {};
  const from = new Map<string, BoundField>();
  for (const [name, field] of fields) {
    const above = comesDown(field) ? inherited?.from.get(name) : undefined;
    const source = chooseSource(own?.get(name), above, modeOf(field));
    if (source) from.set(name, source);
    const chosen = source ? source.value : field.default;
    if (chosen !== undefined) value[name] = chosen;
  }
  return { value, from };
}

/** Where a field comes from; `mode` is what the configuration says about lists that may come down (nginx: add_header_inherit). */
function chooseSource(
  own: BoundField | undefined,
  above: BoundField | undefined,
  mode: unknown,
): BoundField | undefined {
  if (mode === 'off') return own;
  if (mode !== 'merge' || !own || !above) return own ?? above;
  const value = [...(own.value as unknown[]), ...(above.value as unknown[])];
  return { directive: own.directive, spans: [...own.spans, ...above.spans], value };
}

/** Blocks that take the place of the location around them for some of its requests. */
const NAMELESS: ReadonlySet<Context> = new Set<Context>(['location if', 'server if', 'limit_except']);
