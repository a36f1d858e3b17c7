import { type Fix, lineOf, type Span, type TextEdit } from '../../../../grammar/index.ts';
import type { Finding } from '../finding.ts';

/** The fix of a finding; `undefined` if its text would show a secret. */
export function shownFix({ fix }: Finding, hidden: readonly Span[]): Fix | undefined {
  return fix?.edits.some(({ span }) => hidden.some((secret) => overlap(span, secret))) ? undefined : fix;
}

function overlap(a: Span, b: Span): boolean {
  return a.source === b.source && a.start < b.end && a.end > b.start;
}

const MAX_CHARACTERS = 80;

/** The text that a fix writes, in one line; `undefined` if it only deletes, or if it would show a secret. */
export function previewOf({ edits }: Fix, hidden: readonly Span[]): string | undefined {
  const [first] = edits;
  if (!first) return undefined;
  const { source } = first.span;
  const own = edits
    .filter(({ span }) => span.source === source)
    .toSorted((a, b) => a.span.start - b.span.start);
  const start = lineOf(own[0]!.span).start;
  const last = own.at(-1)!.span.end;
  const { end } = lineOf({ source, start: last, end: last });
  if (hidden.some((secret) => overlap({ source, start, end }, secret))) return undefined;
  const old = linesIn(source.text.slice(start, end));
  const fresh = linesIn(edited(source.text.slice(start, end), own, start)).filter(
    (line) => !old.includes(line),
  );
  const text = fresh.join(' ');
  return text === '' ? undefined : cutAround(text, sameStart(text, old.join(' ')));
}

/** The length of the common beginning of two texts. */
function sameStart(text: string, other: string): number {
  let at = 0;
  while (at < text.length && text[at] === other[at]) at++;
  return at;
}

/** The part of a long text around an offset, with a few characters before it. */
function cutAround(text: string, place: number): string {
  if (text.length <= MAX_CHARACTERS) return text;
  const start = Math.max(0, Math.min(place - MAX_CHARACTERS / 2, text.length - MAX_CHARACTERS));
  const end = start + MAX_CHARACTERS;
  return `${start > 0 ? '...' : ''}${text.slice(start, end)}${end < text.length ? '...' : ''}`;
}

function linesIn(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function edited(text: string, edits: readonly TextEdit[], offset: number): string {
  return edits.reduceRight(
    (done, { span, text: replacement }) =>
      done.slice(0, span.start - offset) + replacement + done.slice(span.end - offset),
    text,
  );
}
