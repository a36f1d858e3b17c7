import type { Report } from './diagnostic.ts';
import type { Span } from './source.ts';
import { type DirectiveNode, spanInWord, type Word } from './tree.ts';

/** A part of a complex value. A capture is the number in `$1` to `$9`. */
export type ValuePart =
  | { readonly text: string }
  | { readonly variable: string; readonly span: Span }
  | { readonly capture: number; readonly span: Span };

const REFERENCE = /\$(?:([1-9])|(\w+)|\{(\w*)(\}?)|)/g;

/**
 * Returns the parts of a word, split as by nginx's ngx_http_script_compile: `$name`, `${name}`, `$1` to `$9` (one
 * digit), without an escape for `$`. Text from `${env:…}` and `${file:…}` is not split. Invalid names are reported and
 * left out.
 */
export function splitValue(word: Word, report: Report): readonly ValuePart[] {
  const parts: ValuePart[] = [];
  let at = 0;
  for (const [start, end] of word.literals) {
    addParts(parts, splitPiece(word, [at, start], report));
    addParts(parts, [{ text: word.value.slice(start, end) }]);
    at = end;
  }
  addParts(parts, splitPiece(word, [at, word.value.length], report));
  return parts;
}

function splitPiece(word: Word, [start, end]: readonly [number, number], report: Report): ValuePart[] {
  const piece = word.value.slice(start, end);
  const parts: ValuePart[] = [];
  let copied = 0;
  for (const match of piece.matchAll(REFERENCE)) {
    parts.push({ text: piece.slice(copied, match.index) });
    copied = match.index + match[0].length;
    const [, digit, plain, bracketed, bracket] = match;
    const span = spanInWord(word, start + match.index, start + copied);
    const variable = plain ?? bracketed;
    if (digit) parts.push({ capture: Number(digit), span });
    else if (bracket === '') report.emerg(`the closing bracket in "${bracketed}" variable is missing`, span);
    else if (!variable) report.emerg('invalid variable name', span);
    else parts.push({ variable, span });
  }
  parts.push({ text: piece.slice(copied) });
  return parts;
}

/** Appends parts, joining adjacent texts and leaving out empty ones. */
function addParts(parts: ValuePart[], added: readonly ValuePart[]): void {
  for (const part of added) {
    const last = parts.at(-1);
    if (!('text' in part)) parts.push(part);
    else if (last && 'text' in last) parts[parts.length - 1] = { text: last.text + part.text };
    else if (part.text !== '') parts.push(part);
  }
}

const NAMED = /\$(?:\{(\w+)\}|([A-Za-z_]\w*))/g;

/** Returns the variables in the words of a directive, in lower case. */
export function variablesIn({ args }: DirectiveNode): readonly string[] {
  return args.flatMap(({ value }) =>
    [...value.matchAll(NAMED)].map(([, bracketed, plain]) => (bracketed ?? plain ?? '').toLowerCase()),
  );
}
