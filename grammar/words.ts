import type { IToken } from 'chevrotain';
import type { Report } from './diagnostic.ts';
import type { Source, Span } from './source.ts';
import { placeOf } from './source.ts';
import type { WordFault } from './tokens.ts';
import type { Edit, Word } from './tree.ts';

const CONTROLS: Readonly<Record<string, string>> = { t: '\t', r: '\r', n: '\n' };
const NONE: readonly never[] = [];

/** A word as nginx stores it: quotes off, escapes resolved. A fault of its text is reported. */
export function readWord(token: IToken, source: Source, report: Report): Word {
  const { image, startOffset: start } = token;
  const span = { source, start, end: start + image.length };
  const quote = image[0] === '"' || image[0] === "'" ? image[0] : '';
  const fault = token.payload as WordFault | undefined;
  if (fault) reportWordFault(fault, span, report);
  const closed = quote !== '' && (!fault || (fault.kind === 'glued' && fault.at === span.end));
  const value = image.slice(quote.length, closed ? -1 : undefined);
  const word: Word = { value, quote, span, secret: false, literals: NONE };
  return value.includes('\\') ? unescape(word) : word;
}

/** `\"` `\'` `\\` lose the backslash, `\t` `\r` `\n` become the character, any other pair stays as it is. */
function unescape(word: Word): Word {
  const edits: Edit[] = [];
  const base = word.span.start + word.quote.length;
  const value = word.value.replace(/\\(["'\\trn])/g, (_, character: string, at: number) => {
    const start = at - edits.length;
    edits.push({ value: [start, start + 1], source: [base + at, base + at + 2] });
    return CONTROLS[character] ?? character;
  });
  return edits.length === 0 ? word : { ...word, value, edits };
}

function reportWordFault(fault: WordFault, span: Span, report: Report): void {
  const { source, start } = span;
  const { text } = source;
  const first = text[start]!;
  const opening = { source, start, end: start + 1 };
  if (fault.kind === 'glued') {
    const isCut = fault.at > span.end;
    const line = placeOf(span).line;
    const hint = isCut
      ? `the quote that ends here was opened in line ${line}`
      : 'a space is missing after the quote';
    const character = String.fromCodePoint(text.codePointAt(fault.at)!);
    const at = { source, start: fault.at, end: fault.at + character.length };
    report.emerg(`unexpected "${character}"`, at, hint);
  } else if (fault.kind === 'unclosed') {
    const hint = 'the quote that opens here is never closed';
    report.emerg('unexpected end of file, expecting ";" or "}"', opening, hint);
  } else if (first === '"' || first === "'") {
    report.emerg(`too long parameter, probably missing terminating "${first}" character`, opening);
  } else report.emerg(`too long parameter "${text.slice(start, start + 10)}..." started`, span);
  // To the character after the word: where its directive would lack the ";".
  report.explain({ source, start, end: span.end + 1 });
}
