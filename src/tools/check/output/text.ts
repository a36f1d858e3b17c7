import {
  excerptOf,
  lineOf,
  type Paints,
  paintsFor,
  placeOf,
  printable,
  type Source,
  type Span,
} from '../../../../grammar/index.ts';
import { groupBy } from '../../../config/index.ts';
import type { RuleSeverity } from '../../../contract/index.ts';
import type { Finding } from '../finding.ts';
import { type CheckReport, fileOf, tallyOf, tallyText } from './report.ts';
import { previewOf, shownFix } from './shown-fix.ts';

/**
 * The concise format: one line for each finding, as compilers print it:
 * `file:line:column: severity GW301 slug: message (hint) [option that fixes it]`.
 */
export function concise({ findings }: CheckReport): string {
  const lines = findings.map((finding) => {
    const { span, severity, rule, slug, message, hint, fix } = finding;
    const place = span && placeOf(span);
    const where = `${printable(fileOf(finding))}:${place ? `${place.line}:${place.column}:` : ''}`;
    const advice = hint === undefined ? '' : ` (${printable(hint)})`;
    const how = fix ? ` [${fix.safe ? '--fix' : '--unsafe-fixes'}]` : '';
    return `${where} ${severity} ${rule} ${slug}: ${printable(message)}${advice}${how}\n`;
  });
  return lines.join('');
}

/** The colour of a severity. */
function paintOf(severity: RuleSeverity, { red, yellow, cyan }: Paints): (text: string) => string {
  return { error: red, warning: yellow, info: cyan }[severity];
}

/** Width of the line numbers before the bar. */
const GUTTER = 5;

/** Options of excerpts. */
interface Showing {
  readonly hidden: readonly Span[];
  readonly paints: Paints;
}

/** A span to mark, with its label. */
interface Mark {
  readonly span: Span;
  readonly label: string;
  readonly isMain: boolean;
}

/** The lines of a finding in the order of the file, marked; then those in other files. */
function excerptsOf(finding: Finding, showing: Showing): readonly string[] {
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

/** Options of `human`. */
interface HumanOptions {
  readonly color: boolean;
}

/** Column at which the `gw why` command ends. */
const WIDTH = 96;

/** The human format: each finding with its lines, carets, related places and fix, then the counts. */
export function human(report: CheckReport, { color }: HumanOptions): string {
  const paints = paintsFor(color);
  const texts = report.findings.map((finding) => findingText(finding, report.hidden, paints));
  return [...texts, `${tallyText(tallyOf(report))}\n`].join('');
}

/** The text of one finding, with a line end. */
function findingText(finding: Finding, hidden: readonly Span[], paints: Paints): string {
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

/** The lines with the fix and the hint, the first of them with the `gw why` command at its end. */
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
