import { excerptOf, lineOf, placeOf, printable } from '../../../grammar/index.ts';
import type { Paints, Source, Span } from '../../../grammar/index.ts';
import { groupBy } from '../../config/index.ts';
import type { Finding } from '../finding.ts';
import { paintOf } from './paint.ts';

/** Characters before the bar. */
export const GUTTER = 5;

/** How excerpts are shown. */
interface Showing {
  readonly hidden: readonly Span[];
  readonly paints: Paints;
}

/** A place to point at, and what is said of it. */
interface Mark {
  readonly span: Span;
  readonly label: string;
  readonly isMain: boolean;
}

/** The lines that a finding is about in the order of the file, marked; then those in other files. */
export function excerptsOf(finding: Finding, showing: Showing): readonly string[] {
  const { span, label = '', related = [] } = finding;
  if (!span) return [];
  const others = related.map((place): Mark => ({ ...place, isMain: false }));
  const marks: readonly Mark[] = [{ span, label, isMain: true }, ...others];
  const bySource = groupBy(marks, (mark) => mark.span.source);
  const paint = paintOf(finding.severity, showing.paints);
  return [...bySource].flatMap(([source, own]) => [
    ...(source === span.source ? [] : [placeLine(own, source)]),
    ...linesOf(own, showing, paint),
  ]);
}

/** `--> conf/tls.conf:3:5` */
function placeLine(marks: readonly Mark[], { name }: Source): string {
  const [first] = inOrder(marks);
  const { line, column } = placeOf((first as Mark).span);
  return `${' '.repeat(GUTTER - 1)}--> ${printable(name)}:${line}:${column}`;
}

function linesOf(
  marks: readonly Mark[],
  { hidden, paints }: Showing,
  paint: (text: string) => string,
): readonly string[] {
  const { cyan, dim } = paints;
  const bar = (number: string): string => dim(`${number.padStart(GUTTER)} |`);
  let shown: number | undefined;
  return inOrder(marks).flatMap(({ span, label, isMain }) => {
    const { number } = lineOf(span);
    const { text, caret } = excerptOf(span, hidden);
    const lines: string[] = [];
    if (shown !== undefined && number > shown + 1) lines.push(dim(`${' '.repeat(GUTTER)} ...`));
    if (number !== shown) lines.push(`${bar(String(number))}${text === '' ? '' : ` ${text}`}`);
    shown = number;
    const marked = `${isMain ? caret : caret.replaceAll('^', '-')}${label === '' ? '' : ` ${printable(label)}`}`;
    return [...lines, `${bar('')} ${(isMain ? paint : cyan)(marked)}`];
  });
}

function inOrder(marks: readonly Mark[]): readonly Mark[] {
  return marks.toSorted((a, b) => a.span.start - b.span.start);
}
