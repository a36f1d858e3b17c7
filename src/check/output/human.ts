import { paintsFor, placeOf, printable } from '../../../grammar/index.ts';
import type { Paints, Span } from '../../../grammar/index.ts';
import type { Finding } from '../finding.ts';
import type { CheckReport } from './check-report.ts';
import { excerptsOf, GUTTER } from './excerpts.ts';
import { paintOf } from './paint.ts';
import { fileOf } from './range.ts';
import { previewOf, shownFix } from './shown-fix.ts';
import { tallyOf, tallyText } from './tally.ts';

/** How it looks. */
export interface HumanOptions {
  readonly color: boolean;
}

/** The column that the name of the command which says more ends at. */
const WIDTH = 96;

/** For people: each finding with its lines, carets, other places and fix; then the counts. */
export function human(report: CheckReport, { color }: HumanOptions): string {
  const paints = paintsFor(color);
  const texts = report.findings.map((finding) => findingText(finding, report.hidden, paints));
  return [...texts, `${tallyText(tallyOf(report))}\n`].join('');
}

/** One finding, with a line end. */
export function findingText(finding: Finding, hidden: readonly Span[], paints: Paints): string {
  const lines = [headOf(finding, paints), ...excerptsOf(finding, { hidden, paints })];
  return `${[...lines, ...adviceOn(finding, hidden, paints)].join('\n')}\n`;
}

/** `conf/site.conf:14:9 error GW301 alias-traversal: …` */
function headOf(finding: Finding, paints: Paints): string {
  const { severity, rule, slug, message, span } = finding;
  const place = span && placeOf(span);
  const file = printable(fileOf(finding));
  const where = place ? `${file}:${place.line}:${place.column}` : file;
  const paint = paintOf(severity, paints);
  return `${where} ${paint(severity)} ${paint(`${rule} ${slug}`)}: ${paints.bold(printable(message))}`;
}

/** `= fix (--fix, …): …` and the hint; at the end of the first of them, who says more. */
function adviceOn(finding: Finding, hidden: readonly Span[], { cyan, dim }: Paints): readonly string[] {
  const { hint, rule } = finding;
  const fix = shownFix(finding, hidden);
  const preview = fix && previewOf(fix, hidden);
  const option = fix?.safe === true ? '--fix' : '--unsafe-fixes';
  const lines = [
    fix && `fix (${option}, ${fix.title})${preview === undefined ? '' : `: ${preview}`}`,
    hint,
  ].filter((line) => line !== undefined);
  const why = `gw why ${rule}`;
  if (lines.length === 0) return [`${' '.repeat(GUTTER)} ${dim('=')} ${dim(why)}`];
  return lines.map((line, index) => {
    const text = printable(line);
    const gap = ' '.repeat(Math.max(2, WIDTH - GUTTER - 3 - text.length - why.length));
    return `${' '.repeat(GUTTER)} ${dim('=')} ${cyan(text)}${index === 0 ? gap + dim(why) : ''}`;
  });
}
