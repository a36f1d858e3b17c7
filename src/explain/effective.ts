import type { DirectiveNode } from '../../grammar/index.ts';
import type { BlockView, Registry } from '../config/index.ts';
import type { EffectiveDirective, ReplacedDirective } from './account.ts';
import { placeText } from './words.ts';
import type { Wording } from './words.ts';

/** What holds in a block, and what stands further out and does not. */
export interface Effective {
  readonly effective: readonly EffectiveDirective[];
  readonly replaced: readonly ReplacedDirective[];
}

/** What a list of directives is made with. */
export interface EffectiveOptions {
  readonly registry: Registry;
  readonly wording: Wording;
  /** Those that act there. */
  readonly modules: readonly string[];
  /** Directives that have been told of in their order. */
  readonly told: ReadonlySet<DirectiveNode>;
}

/** Levels whose directives are about the process, and not about a request. */
const OUTSIDE: ReadonlySet<string> = new Set(['main', 'events', 'upstream']);

/** The directives that hold in a block: its own first, then those that came down, from the inside out. */
export function effectiveIn(
  block: BlockView,
  { registry, wording, modules, told }: EffectiveOptions,
): Effective {
  const levels = [...block.outward()].filter(({ context }) => !OUTSIDE.has(context));
  const fields = new Map<string, readonly DirectiveNode[]>();
  for (const owner of registry.owners.filter((name) => modules.includes(name))) {
    for (const [name, { nodes }] of block.from(owner)) {
      // Names and ports of a server have been told of.
      const isPlaces = block.context === 'server' && registry.fields(owner).get(name)?.inherit === false;
      if (!isPlaces) fields.set(`${owner} ${name}`, nodes);
    }
  }
  const holding = new Set([...fields.values()].flat());
  const effective: EffectiveDirective[] = [];
  const replaced: ReplacedDirective[] = [];
  for (const level of levels) {
    const facts = (node: DirectiveNode): Omit<EffectiveDirective, 'inherited'> => ({
      text: wording.directive(node),
      place: placeText(node.name.span),
      level: levelText(level, wording),
    });
    // Blocks are told of where they are used.
    for (const node of level.own().filter((each) => !each.block && !told.has(each))) {
      const by = holding.has(node) ? undefined : replacing(node, { fields, registry, level, block });
      if (holding.has(node)) effective.push({ ...facts(node), inherited: level !== block });
      else if (by) replaced.push({ ...facts(node), by: placeText(by.name.span) });
    }
  }
  return { effective, replaced };
}

interface Replacing {
  readonly fields: ReadonlyMap<string, readonly DirectiveNode[]>;
  readonly registry: Registry;
  readonly level: BlockView;
  readonly block: BlockView;
}

/** The directive that has taken the place of one further out; nothing where it would not have come down anyway. */
function replacing(
  { name }: DirectiveNode,
  { fields, registry, level, block }: Replacing,
): DirectiveNode | undefined {
  if (level === block) return undefined;
  for (const { owner, row } of registry.named(name.value)) {
    if (row.into === undefined || registry.fields(owner).get(row.into)?.inherit === false) continue;
    const [by] = fields.get(`${owner} ${row.into}`) ?? [];
    if (by) return by;
  }
  return undefined;
}

/** A block as people speak of it: `location /a`, `server`. */
export function levelText({ context, node }: BlockView, wording: Wording): string {
  return node && node.args.length > 0 ? wording.directive(node).replace(/ \{ … \}$/, '') : context;
}
