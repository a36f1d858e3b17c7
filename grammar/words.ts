import { type IToken, Lexer, type TokenType } from 'chevrotain';
import { Report } from './diagnostic.ts';
import { placeOf, type Source, type Span } from './source.ts';
import { BlockEnd, BlockStart, LuaBlock, Semicolon, tokenTypes, type WordFault } from './tokens.ts';
import type { Edit, Word } from './tree.ts';

const CONTROLS: Readonly<Record<string, string>> = { t: '\t', r: '\r', n: '\n' };
const NONE: readonly never[] = [];

/** Returns a word as nginx stores it, without quotes and escapes. A fault of its text is reported. */
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

/**
 * Resolves escapes: `\"`, `\'` and `\\` lose the backslash, `\t`, `\r` and `\n` become the character; others are kept.
 */
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
  const { source, start, end } = span;
  const first = source.text[start]!;
  const opening = { source, start, end: start + 1 };
  if (fault.kind === 'glued') reportGlued(fault.at, span, report);
  else if (fault.kind === 'brace') reportBrace(fault.at, span, report);
  else if (fault.kind === 'unclosed') {
    const at = { source, start: end, end };
    report.emerg('unexpected end of file, expecting ";" or "}"', opening, {
      rule: 'unclosed-quote',
      hint: 'the quote that opens here is never closed',
      fix: { title: 'close the quote', safe: false, edits: [{ span: at, text: first }] },
    });
  } else if (first === '"' || first === "'") {
    const message = `too long parameter, probably missing terminating "${first}" character`;
    report.emerg(message, opening, { rule: 'unclosed-quote' });
  } else {
    report.emerg(`too long parameter "${source.text.slice(start, start + 10)}..." started`, span);
  }
  // Includes the character after the word, where a fault about a missing ";" would start.
  report.explain({ source, start, end: end + 1 });
}

/** Reports text after a closing quote: either a blank is missing, or the quote was meant to open another word. */
function reportGlued(start: number, word: Span, report: Report): void {
  const { source } = word;
  const character = String.fromCodePoint(source.text.codePointAt(start)!);
  const message = `unexpected "${character}"`;
  const span = { source, start, end: start + character.length };
  if (start > word.end) {
    const opening = { source, start: word.start, end: word.start + 1 };
    return report.emerg(message, span, {
      rule: 'unclosed-quote',
      hint: `the quote that ends here was opened in line ${placeOf(word).line}`,
      related: [{ span: opening, label: 'opened here' }],
    });
  }
  const edits = [{ span: { source, start, end: start }, text: ' ' }];
  report.emerg(message, span, {
    rule: 'unexpected-token',
    hint: 'a space is missing after the quote',
    fix: { title: 'add a space', safe: false, edits },
  });
}

/** Reports a regular expression with repetitions that is not quoted: nginx ends the word there and begins a block. */
function reportBrace(at: number, word: Span, report: Report): void {
  const { source, start } = word;
  // The parenthesis that ends the condition of an "if" is no part of the expression.
  const text = source.text.slice(start, word.end);
  const end = text.endsWith(')') && text.split(')').length > text.split('(').length ? word.end - 1 : word.end;
  const edits = [
    { span: { source, start, end: start }, text: '"' },
    { span: { source, start: end, end }, text: '"' },
  ];
  report.emerg(
    'unexpected "{"',
    { source, start: at, end: at + 1 },
    {
      rule: 'unexpected-token',
      hint: 'it begins a block: quote the regular expression',
      ...(!text.includes('"') && { fix: { title: 'quote the regular expression', safe: false, edits } }),
    },
  );
}

/** One token of a configuration's text, comments included. */
export interface Piece {
  readonly kind: 'word' | 'comment' | ';' | '{' | '}' | 'lua';
  /** The source text, quotes and `#` included. */
  readonly image: string;
  readonly start: number;
  /** The value of a word after unquoting; of other pieces the image. */
  readonly value: string;
  /** True if the word is quoted. */
  readonly quoted: boolean;
}

const KINDS = new Map<TokenType, Piece['kind']>([
  [Semicolon, ';'],
  [BlockStart, '{'],
  [BlockEnd, '}'],
  [LuaBlock, 'lua'],
]);

let lexer: Lexer | undefined;

/** Returns the pieces of one text in order. The text must parse: faults of words are not reported here. */
export function piecesOf(source: Source): readonly Piece[] {
  lexer ??= new Lexer(tokenTypes, { positionTracking: 'onlyOffset', skipValidations: true });
  const { tokens, groups } = lexer.tokenize(source.text);
  const comments = (groups['comments'] ?? []).map(commentPiece);
  if (comments.length === 0) return tokens.map((token) => pieceOf(token, source));
  return [...tokens.map((token) => pieceOf(token, source)), ...comments].sort((a, b) => a.start - b.start);
}

function commentPiece({ image, startOffset: start }: IToken): Piece {
  const text = image.trimEnd();
  return { kind: 'comment', image: text, start, value: text, quoted: false };
}

function pieceOf(token: IToken, source: Source): Piece {
  const { image, startOffset: start, tokenType } = token;
  const kind = KINDS.get(tokenType);
  if (kind) return { kind, image, start, value: image, quoted: false };
  const { value, quote } = readWord(token, source, new Report());
  return { kind: 'word', image, start, value, quoted: quote !== '' };
}
