import pc from 'picocolors';
import type { Fault, Report } from './diagnostic.ts';
import { lineOf, placeOf, type Span } from './source.ts';

/** Functions that colour a text, or return it unchanged. */
export type Paints = ReturnType<typeof pc.createColors>;

/** Returns the paints for a stream. `isColored` must be a boolean: for `undefined` picocolors decides for itself. */
export function paintsFor(isColored: boolean): Paints {
  return pc.createColors(isColored);
}

/** Tells whether to colour the output: on a terminal, unless `NO_COLOR` (no-color.org) or `FORCE_COLOR` is set. */
export function takesColor(
  stream: { readonly isTTY?: boolean },
  env: NodeJS.ProcessEnv = process.env,
): boolean {
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  const forced = env['FORCE_COLOR'] ?? '';
  if (forced !== '') return forced !== '0' && forced !== 'false';
  return stream.isTTY === true && env['TERM'] !== 'dumb';
}

const TAB_COLUMNS = 4;

// Control characters, lone surrogates, bidirectional marks and zero-width characters.
const UNSAFE = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const ZERO = /\p{Mn}|\p{Me}/u;

/** Returns a text that is safe on a terminal: `\x1B` for a control byte, `\u202E` for a character that hides text. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.charCodeAt(0);
    const hex = code.toString(16).toUpperCase();
    return code < 256 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`;
  });
}

/** The printed form of one character at a column, and its width. */
interface Cell {
  readonly shown: string;
  readonly width: number;
}

/** Returns the printed form of a code point: blanks for a tab, an escape for an unsafe character. */
export function cellOf(character: string, column: number): Cell {
  if (character === '\t') {
    const width = TAB_COLUMNS - (column % TAB_COLUMNS);
    return { shown: ' '.repeat(width), width };
  }
  if (character >= ' ' && character <= '~') return { shown: character, width: 1 };
  const shown = printable(character);
  if (shown !== character) return { shown, width: shown.length };
  return { shown, width: ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1 };
}

/** A longer line is clipped around the caret. */
const MAX_CHARACTERS = 100;

/** Characters of a clipped line that are kept before the caret. */
const MAX_BEFORE_CARET = 40;

const CLIPPED = '...';

/** Returns the first source line of a span and the carets below it, safe for a terminal. */
export function excerptOf(span: Span, hidden: readonly Span[] = []): { text: string; caret: string } {
  const line = lineOf(span);
  const { text: source } = span.source;
  const isLong = line.end - line.start > MAX_CHARACTERS;
  const from = isLong ? whole(source, Math.max(line.start, span.start - MAX_BEFORE_CARET)) : line.start;
  const to = isLong ? whole(source, Math.min(line.end, from + MAX_CHARACTERS)) : line.end;
  const shown = withoutSecrets({ source: span.source, start: from, end: to }, hidden);
  const text = (start: number, end: number): string =>
    shown.slice(Math.min(start, to) - from, Math.min(end, to) - from);
  const before = show(text(from, span.start), from > line.start ? CLIPPED : '');
  const marked = show(text(span.start, span.end), before.text, before.width);
  const after = show(text(Math.max(span.start, span.end), to), marked.text, marked.width);
  return {
    text: (to < line.end ? after.text + CLIPPED : after.text).trimEnd(),
    caret: ' '.repeat(before.width) + '^'.repeat(Math.max(1, marked.width - before.width)),
  };
}

/** Returns the text of a span with hidden parts masked. Only the span is copied: a line may be as long as its file. */
function withoutSecrets({ source, start, end }: Span, hidden: readonly Span[]): string {
  let text = source.text.slice(start, end);
  for (const secret of hidden) {
    if (secret.source !== source) continue;
    const from = Math.max(secret.start, start) - start;
    const to = Math.min(secret.end, end) - start;
    if (from < to) text = text.slice(0, from) + '*'.repeat(to - from) + text.slice(to);
  }
  return text;
}

function show(piece: string, shown: string, column = shown.length): { text: string; width: number } {
  let text = shown;
  let width = column;
  for (const character of piece) {
    const cell = cellOf(character, width);
    text += cell.shown;
    width += cell.width;
  }
  return { text, width };
}

/** Returns the offset, moved back by one if it would split a surrogate pair. */
function whole(text: string, offset: number): number {
  return /[\uDC00-\uDFFF]/.test(text[offset] ?? '') && offset > 0 ? offset - 1 : offset;
}

/** The name of the program, and whether to use colours. */
export interface PrintOptions {
  readonly program: string;
  readonly color: boolean;
  /** Spans that are masked with asterisks. */
  readonly hidden?: readonly Span[];
}

/** Returns a fault as text: the message and its place, the source line with carets, the hint. No line end. */
export function formatFault(fault: Fault, { program, color, hidden = [] }: PrintOptions): string {
  const { severity, message, span, hint } = fault;
  const { bold, cyan, dim, red, yellow } = paintsFor(Boolean(color));
  const paint = { emerg: red, warn: yellow, notice: cyan }[severity];
  const head = `${program}: ${paint(`[${severity}]`)} ${bold(printable(message))}`;
  const tail = hint === undefined ? [] : [`  ${cyan(printable(hint))}`];
  if (!span) return [head, ...tail].join('\n');
  const { file, line, column } = placeOf(span);
  const { text, caret } = excerptOf(span, hidden);
  const gutter = ' '.repeat(String(line).length);
  return [
    `${head} in ${printable(file)}:${line}:${column}`,
    `  ${dim(`${line} |`)}${text === '' ? '' : ` ${text}`}`,
    `  ${dim(`${gutter} |`)} ${paint(caret)}`.trimEnd(),
    ...tail,
  ].join('\n');
}

/**
 * Returns all faults of a report, each with a line end, sorted by source in the order of reading, then by place; faults
 * without a place come last.
 */
export function formatFaults(report: Report, options: PrintOptions): string {
  const order = new Map(report.sources.map((source, index) => [source, index]));
  const rank = ({ span }: Fault): number => (span ? (order.get(span.source) ?? order.size) : Infinity);
  const start = ({ span }: Fault): number => span?.start ?? 0;
  return report.faults
    .toSorted((a, b) => (rank(a) === rank(b) ? start(a) - start(b) : rank(a) - rank(b)))
    .map((fault) => `${formatFault(fault, { ...options, hidden: report.hidden })}\n`)
    .join('');
}
