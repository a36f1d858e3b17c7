/** One text that configuration comes from: a file, `-g`, or standard input. */
export interface Source {
  /** The printed name. */
  readonly name: string;
  readonly text: string;
  /** Absolute path; absent if the source is not a file. */
  readonly path?: string;
}

/** A part of a source: UTF-16 offsets, the end exclusive. */
export interface Span {
  readonly source: Source;
  readonly start: number;
  readonly end: number;
}

/** A file, a line and a column. Both count from 1; the column counts code points. */
interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

const lineStarts = new WeakMap<Source, readonly number[]>();

/** Returns the place where a span starts. The line index of a source is built once, when it is first needed. */
export function placeOf(span: Span): SourcePlace {
  const { source, start } = span;
  const line = lineOf(span);
  return { file: source.name, line: line.number, column: codePoints(source.text, line.start, start) + 1 };
}

/** Returns the place of a span as `file:line`; '' without a span. */
export function placeText(span: Span | undefined): string {
  return span ? `${span.source.name}:${lineOf(span).number}` : '';
}

/** Returns the line on which a span starts: its number from 1, and its offsets without the line end. */
export function lineOf({ source, start }: Span): { number: number; start: number; end: number } {
  const starts = indexLines(source);
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= start) low = middle;
    else high = middle - 1;
  }
  const next = starts[low + 1];
  const end = next === undefined ? source.text.length : next - 1;
  const crlf = end > starts[low]! && source.text[end - 1] === '\r';
  return { number: low + 1, start: starts[low]!, end: crlf ? end - 1 : end };
}

/** Returns the number of blanks between the start of the line and `offset`; `undefined` if there is anything else. */
export function indentAt(text: string, offset: number): number | undefined {
  let start = offset;
  while (text[start - 1] === ' ' || text[start - 1] === '\t') start--;
  return start === 0 || text[start - 1] === '\n' ? offset - start : undefined;
}

function indexLines(source: Source): readonly number[] {
  let starts = lineStarts.get(source);
  if (!starts) {
    const found = [0];
    for (let at = source.text.indexOf('\n'); at >= 0; at = source.text.indexOf('\n', at + 1))
      found.push(at + 1);
    lineStarts.set(source, (starts = found));
  }
  return starts;
}

function codePoints(text: string, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; count++) at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  return count;
}
