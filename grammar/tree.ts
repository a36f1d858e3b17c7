import type { Source, Span } from './source.ts';

/**
 * One word of the configuration after nginx's unquoting.
 * `value` has `${env:…}` and `${file:…}` expanded; `literals` are the ranges of `value` that came from them, in which
 * `$` has no meaning. `secret` is set if such a range exists: the value must never be printed.
 */
export interface Word {
  readonly value: string;
  readonly quote: '' | '"' | "'";
  readonly span: Span;
  readonly secret: boolean;
  readonly literals: readonly (readonly [start: number, end: number])[];
  /** The differences between `value` and the source (escapes, expansions), in order; absent without any. */
  readonly edits?: readonly Edit[];
}

/** A range of a word's value and the source range that it comes from. */
export interface Edit {
  readonly value: readonly [start: number, end: number];
  readonly source: readonly [start: number, end: number];
}

/** A directive with its arguments; `block` is present if it has braces. `include` does not occur in a loaded tree. */
export interface DirectiveNode {
  readonly name: Word;
  readonly args: readonly Word[];
  readonly block?: readonly DirectiveNode[];
  /** From the name to the `;` or the closing `}`. */
  readonly span: Span;
}

/** The result of one load: the directives of the main context, and each file once in the order of reading. */
export interface ConfigTree {
  readonly directives: readonly DirectiveNode[];
  readonly sources: readonly Source[];
}

/** Returns a word as a message may print it: its value, or its source text if the value is a secret. */
export function printableWord(word: Word): string {
  return word.secret ? word.span.source.text.slice(word.span.start, word.span.end) : word.value;
}

/** Returns the part `value.slice(start, end)` of a word as a word of its own, for words with a prefix or suffix. */
export function partOfWord(word: Word, start: number, end = word.value.length): Word {
  const { value, secret, literals, edits } = word;
  const moved = ([from, to]: readonly [number, number]): [number, number] => [
    Math.max(from, start) - start,
    Math.min(to, end) - start,
  ];
  const inside = ([from, to]: readonly [number, number]): boolean => from < end && to > start;
  return {
    value: value.slice(start, end),
    quote: '',
    span: spanInWord(word, start, end),
    secret,
    literals: literals.filter(inside).map(moved),
    ...(edits && {
      edits: edits
        .filter((edit) => inside(edit.value))
        .map((edit) => ({ value: moved(edit.value), source: edit.source })),
    }),
  };
}

/** Returns the span of `value.slice(start, end)` in the source, exact across escapes and expansions. */
export function spanInWord(word: Word, start: number, end: number): Span {
  return { source: word.span.source, start: sourceOffset(word, start, 0), end: sourceOffset(word, end, 1) };
}

/**
 * Returns the source offset of an offset in the value. For an offset inside an edit, `side` selects its start (0) or
 * its end (1).
 */
function sourceOffset(word: Word, offset: number, side: 0 | 1): number {
  let from = 0;
  let base = word.span.start + word.quote.length;
  for (const { value, source } of word.edits ?? []) {
    if (offset <= value[0]) break;
    if (offset < value[1]) return source[side];
    from = value[1];
    base = source[1];
  }
  return base + offset - from;
}

/** Returns the source text of a directive. */
export function writtenText({ span }: DirectiveNode): string {
  return span.source.text.slice(span.start, span.end);
}
