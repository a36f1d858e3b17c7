import { paintsFor } from './colors.ts';
import type { Fault, Report } from './diagnostic.ts';
import { excerptOf } from './excerpt.ts';
import { placeOf } from './source.ts';
import type { Span } from './source.ts';
import { printable } from './terminal.ts';

/** Who says it, and whether in colour. */
export interface PrintOptions {
  readonly program: string;
  readonly color: boolean;
  /** Stretches that are shown as asterisks. */
  readonly hidden?: readonly Span[];
}

/** A fault as the terminal shows it: the message and its place, the source line with a caret, the hint. No line end. */
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

/** All faults of a report, each with a line end: by source in the order of reading, then by place; placeless last. */
export function formatFaults(report: Report, options: PrintOptions): string {
  const order = new Map(report.sources.map((source, index) => [source, index]));
  const rank = ({ span }: Fault): number => (span ? (order.get(span.source) ?? order.size) : Infinity);
  const start = ({ span }: Fault): number => span?.start ?? 0;
  return report.faults
    .toSorted((a, b) => (rank(a) === rank(b) ? start(a) - start(b) : rank(a) - rank(b)))
    .map((fault) => `${formatFault(fault, { ...options, hidden: report.hidden })}\n`)
    .join('');
}
