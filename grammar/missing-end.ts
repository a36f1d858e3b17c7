import type { ParseInput } from './parse-input.ts';
import type { Fault } from './diagnostic.ts';
import { indentAt } from './source.ts';
import type { DirectiveNode, Word } from './tree.ts';
import { printableWord } from './tree.ts';

/*
 * Where is the `;` missing? In nginx's syntax arguments may go on in the next line, and any word may be an argument:
 * the text alone proves a missing `;` only where a `}` or the end of the text follows the words, or a `{` that the first
 * of them cannot have. There, a word that starts a line and is the name of a directive starts that directive, and the
 * line before it lacks the `;`.
 *
 * Elsewhere (`listen 80` LF `server_name a;`) the words are one directive, which may be valid, so nothing is reported.
 * If a line in it starts with the name of a directive and is not indented deeper than the directive itself, the report
 * is told the explanation: should a later stage refuse a word of this directive, it gets the missing `;` as the fault.
 * So no configuration is refused for its line breaks.
 */

/** The directives that a cut-off run of words consists of. */
export function splitAtDirectives(words: readonly Word[], { knownDirective }: ParseInput): Word[][] {
  const parts: Word[][] = [];
  for (const word of words) {
    const startsDirective = word.quote === '' && indentOf(word) !== undefined && knownDirective(word.value);
    if (parts.length === 0 || startsDirective) parts.push([word]);
    else parts.at(-1)!.push(word);
  }
  return parts;
}

/**
 * Which of the words in front of a `{` is the name of the block: the first one, or the last one that starts a line and can
 * be one if the first cannot. Such words are refused in any case, so what stands before the name can only lack its `;`.
 */
export function startOfBlock([first, ...more]: readonly Word[], { opensBlock }: ParseInput): number {
  if (!first || opensBlock(first.value)) return 0;
  const startsBlock = (word: Word) =>
    word.quote === '' && indentOf(word) !== undefined && opensBlock(word.value);
  return more.findLastIndex(startsBlock) + 1;
}

/** Reports the missing `;` at the end of the words that lack it. */
export function reportMissingEnd(
  { words, next, endsText }: { words: readonly Word[]; next: Word | undefined; endsText: boolean },
  { report, isParameter }: ParseInput,
): void {
  const { message, span, hint, ...details } = missingEnd(words[0]!, words.at(-1)!, next);
  if (!endsText) report.emerg(message, span, { hint, ...details });
  else if (isParameter) report.emerg('unexpected end of parameter, expecting ";"', span, details);
  else report.emerg('unexpected end of file, expecting ";" or "}"', span, { hint, ...details });
}

/** Leaves an explanation for a directive whose words, up to `end`, look like two directives. */
export function explainMissingEnd({ name, args }: DirectiveNode, end: number, input: ParseInput): void {
  const at = startOfNext({ name, args }, input.knownDirective);
  if (at < 0) return;
  const range = { source: input.source, start: name.span.start, end };
  input.report.explain(range, missingEnd(name, args[at - 1] ?? name, args[at]));
}

/** Which argument of a directive most likely is the name of the next one; -1 when none is. */
export function startOfNext(
  { name, args }: Pick<DirectiveNode, 'name' | 'args'>,
  knownDirective: (name: string) => boolean,
): number {
  if (!knownDirective(name.value)) return -1;
  const limit = indentOf(name) ?? Infinity;
  return args.findIndex((word) => {
    const indent = indentOf(word);
    return word.quote === '' && indent !== undefined && indent <= limit && knownDirective(word.value);
  });
}

function missingEnd(name: Word, last: Word, next: Word | undefined): Fault {
  const { source, end } = last.span;
  const span = { source, start: end, end };
  return {
    severity: 'emerg',
    message: `directive "${printableWord(name)}" is not terminated by ";"`,
    span,
    rule: 'missing-semicolon',
    hint: next ? `add ";" here, "${next.value}" starts the next directive` : 'add ";" here',
    fix: { title: 'add ";"', safe: true, edits: [{ span, text: ';' }] },
  };
}

function indentOf({ span }: Word): number | undefined {
  return indentAt(span.source.text, span.start);
}
