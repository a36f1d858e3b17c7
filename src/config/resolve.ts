import type { BoundBlock, BoundField } from './bound.ts';
import type { Registry } from './registry.ts';

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
  return new Map(
    registry.owners.map((owner) => [
      owner,
      resolveOwner(owner, { registry, own: block.own.get(owner), parent }),
    ]),
  );
}

interface Resolving {
  readonly registry: Registry;
  readonly own: ReadonlyMap<string, BoundField> | undefined;
  readonly parent: ResolvedConfigs | undefined;
}

function resolveOwner(owner: string, { registry, own, parent }: Resolving): ResolvedConfig {
  const inherited = parent?.get(owner);
  const fields = registry.fields(owner);
  const sameAsParent =
    inherited && !own && ![...inherited.from.keys()].some((name) => fields.get(name)?.inherit === false);
  if (sameAsParent) return inherited;

  const value: Record<string, unknown> = {};
  const from = new Map<string, BoundField>();
  for (const [name, { inherit, default: fallback }] of fields) {
    const source = own?.get(name) ?? (inherit ? inherited?.from.get(name) : undefined);
    if (source) from.set(name, source);
    const chosen = source ? source.value : fallback;
    if (chosen !== undefined) value[name] = chosen;
  }
  return { value, from };
}
