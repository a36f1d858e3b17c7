import { spanInWord } from '../../grammar/index.ts';
import type { DirectiveNode, Span, Word } from '../../grammar/index.ts';
import type { BlockView } from '../config/index.ts';
import type { CoreConfig, LocationMatch } from '../contract/index.ts';
import { oncePer } from './once-per.ts';
import { stepsOf } from './rewriting.ts';

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

/** The captures that a word asks for; what came out of `${env:…}` is text. */
export function capturesIn(word: Word): readonly CaptureUse[] {
  return [...word.value.matchAll(/\$([1-9])/g)].flatMap(({ index, 1: digit }) =>
    word.literals.some(([start, end]) => start <= index && index < end)
      ? []
      : { capture: Number(digit), span: spanInWord(word, index, index + 2) },
  );
}

/** The pattern of each `rewrite` and `if` of a block, by its directive. */
export const stepPatterns = oncePer(
  (block: BlockView): ReadonlyMap<DirectiveNode, Pattern> =>
    new Map(
      stepsOf(block).flatMap(({ step, node }) => {
        const regex = step.regex ?? step.condition?.regex;
        return regex ? [[node, { groups: regex.groups, node }]] : [];
      }),
    ),
);

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
      name.kind === 'regex' ? { groups: name.regex.groups, node } : [],
    );
  }
  const match = context === 'location' ? (args as LocationMatch | undefined) : undefined;
  return match?.kind === 'regex' ? [{ groups: match.regex.groups, node }] : [];
}
