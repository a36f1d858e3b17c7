import { Report, splitValue } from '../../grammar/index.ts';
import type { DirectiveNode, Span, Word } from '../../grammar/index.ts';
import type { BlockView, ReadRegex } from '../config/index.ts';
import type { CoreConfig, LocationMatch } from '../contract/index.ts';

/** A `$1` to `$9` in a word. */
export interface CaptureUse {
  readonly capture: number;
  readonly span: Span;
}

/** A pattern of the configuration: how many groups it has, and the directive that holds it. */
export interface Pattern {
  readonly groups: number;
  readonly node: DirectiveNode | undefined;
}

/** The captures that a word asks for. */
export function capturesIn(word: Word): readonly CaptureUse[] {
  if (!/\$[1-9]/.test(word.value)) return [];
  // What is wrong with the word has been reported by the load.
  return splitValue(word, new Report()).flatMap((part) => ('capture' in part ? part : []));
}

/** A step of the rewrite module, as far as its pattern goes. */
interface Step {
  readonly regex?: ReadRegex;
  readonly condition?: { readonly regex?: ReadRegex };
}

/** The pattern of each `rewrite` and `if` of a block, by its directive. */
export function stepPatterns(block: BlockView): ReadonlyMap<DirectiveNode, Pattern> {
  const steps = block.from('rewrite').get('steps');
  const found = new Map<DirectiveNode, Pattern>();
  for (const [index, step] of ((steps?.value ?? []) as readonly Step[]).entries()) {
    const regex = step.regex ?? step.condition?.regex;
    const node = steps?.nodes[index];
    if (regex && node) found.set(node, { groups: groupsOf(regex), node });
  }
  return found;
}

/** The patterns that a block is found by, and those of the steps in it and in the blocks inside it. */
export function patternsOf(block: BlockView): readonly Pattern[] {
  return [...ownPatterns(block), ...stepPatterns(block).values(), ...block.inner.flatMap(patternsOf)];
}

/** The pattern of a location, or those among the names of a server. */
export function ownPatterns(block: BlockView): readonly Pattern[] {
  const { args, context, node } = block;
  if (context === 'server') {
    const { serverNames } = block.config('core') as Partial<CoreConfig>;
    return (serverNames?.flat() ?? []).flatMap((name) =>
      name.kind === 'regex' ? { groups: groupsOf(name.regex), node } : [],
    );
  }
  const match = context === 'location' ? (args as LocationMatch | undefined) : undefined;
  return match?.kind === 'regex' ? [{ groups: groupsOf(match.regex), node }] : [];
}

function groupsOf({ source }: Pick<ReadRegex, 'source'>): number {
  return (new RegExp(`${source}|`).exec('')?.length ?? 1) - 1;
}
