import type { DirectiveNode } from '../../grammar/index.ts';
import type { BoundBlock, BoundField } from './bind.ts';
import type { Registry } from './registry.ts';
import { resolve, type ResolvedConfigs } from './resolve.ts';
import type { Context } from './row.ts';

/** Groups things by a key and keeps their order (`Map.groupBy`, which Node 20 lacks). */
export function groupBy<K, T>(things: readonly T[], keyOf: (thing: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const thing of things) {
    const key = keyOf(thing);
    const group = groups.get(key);
    if (group) group.push(thing);
    else groups.set(key, [thing]);
  }
  return groups;
}

/**
 * A block with the directives that hold in it, for rules and explanations. Each part is computed on first use: of ten
 * thousand locations most are asked for a few directives only.
 */
export class BlockView {
  readonly context: Context;
  readonly node: DirectiveNode | undefined;
  /** The block's words as its row has read them: the `LocationMatch` of a location. */
  readonly args: unknown;
  readonly outer: BlockView | undefined;
  readonly #block: BoundBlock;
  readonly #registry: Registry;
  #inner: readonly BlockView[] | undefined;
  #level: ResolvedConfigs | undefined;
  #own: ReadonlyMap<string, readonly DirectiveNode[]> | undefined;
  readonly #several = new Map<string, readonly DirectiveNode[]>();
  readonly #directives: readonly DirectiveNode[];

  constructor(block: BoundBlock, { registry, directives, outer }: ViewOptions) {
    this.#block = block;
    this.#registry = registry;
    this.#directives = directives;
    this.context = block.context;
    this.node = block.node;
    this.args = block.args;
    this.outer = outer;
  }

  /** The nested blocks in file order. */
  get inner(): readonly BlockView[] {
    const registry = this.#registry;
    return (this.#inner ??= this.#block.children.map(
      (child) => new BlockView(child, { registry, directives: child.node?.block ?? [], outer: this }),
    ));
  }

  /** The directives of these names in the block itself, in file order; without names, all, including refused ones. */
  own(...names: readonly string[]): readonly DirectiveNode[] {
    if (names.length === 0) return this.#directives;
    const own = (this.#own ??= groupBy(this.#directives, ({ name }) => name.value));
    const lists = names.flatMap((name) => (own.has(name) ? [own.get(name) ?? NONE] : []));
    if (lists.length < 2) return lists[0] ?? NONE;
    // Cached: each of ten thousand locations asks the server around it.
    const key = names.join(' ');
    const several =
      this.#several.get(key) ?? this.#directives.filter(({ name }) => names.includes(name.value));
    this.#several.set(key, several);
    return several;
  }

  /** The directives of these names that hold in the block, its own or inherited. */
  effective(...names: readonly string[]): readonly DirectiveNode[] {
    const found = new Set<DirectiveNode>();
    for (const name of names) {
      for (const node of this.#holding(name)) if (names.includes(node.name.value)) found.add(node);
    }
    return [...found];
  }

  /** A module's config with inheritance and defaults applied. */
  config(module: string): Readonly<Record<string, unknown>> {
    return this.level.get(module)?.value ?? {};
  }

  /** The directives that set the fields of a module's config; fields with their default are absent. */
  from(module: string): ReadonlyMap<string, BoundField> {
    return this.level.get(module)?.from ?? new Map();
  }

  /** This block and the enclosing blocks, from the inside out. */
  *outward(): Generator<BlockView> {
    yield this;
    // A loop, because nested generators would take most of the time of a check.
    for (let block = this.outer; block; block = block.outer) yield block;
  }

  /** The configs of all modules in the block. */
  get level(): ResolvedConfigs {
    return (this.#level ??= resolve(this.#registry, this.#block, this.outer?.level));
  }

  /** The directives that hold for the fields that a directive of this name sets. */
  #holding(name: string): readonly DirectiveNode[] {
    const entries = this.#registry.named(name).filter(({ row }) => row.into !== undefined);
    if (entries.length > 0)
      return entries.flatMap(({ owner, row }) => this.from(owner).get(row.into as string)?.nodes ?? NONE);
    for (const block of this.outward()) if (block.own(name).length > 0) return block.own(name);
    return NONE;
  }
}

interface ViewOptions {
  readonly registry: Registry;
  readonly directives: readonly DirectiveNode[];
  readonly outer?: BlockView;
}

const NONE: readonly never[] = [];

/** The server around a block, or the block itself. */
export function serverOf(block: BlockView): BlockView | undefined {
  return [...block.outward()].find(({ context }) => context === 'server');
}
