import { relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { placeOf, type Span } from '../../../../grammar/index.ts';
import type { Rule, RuleSeverity } from '../../../contract/index.ts';
import type { Finding, SuppressedFinding } from '../finding.ts';
import type { Review } from '../review.ts';

/** The input of the formats: the findings in all checked configurations. */
export interface CheckReport {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  /** Names of all files that were read. */
  readonly files: readonly string[];
  readonly directives: number;
  /** The rules with findings, sorted by id. */
  readonly rules: readonly Rule[];
  /** Spans of secrets, which are never shown. */
  readonly hidden: readonly Span[];
}

/** A checked configuration with the name of its main file. */
export interface CheckedFile {
  readonly name: string;
  readonly review: Review;
}

/** Combines the reviews of several configurations; shared findings occur once. */
export function reportOf(checked: readonly CheckedFile[]): CheckReport {
  const seen = new Set<string>();
  const isNew = (finding: Finding): boolean => {
    const { span, file = span?.source.name, rule, message } = finding;
    const key = JSON.stringify([file, span?.start, rule, message]);
    return !seen.has(key) && Boolean(seen.add(key));
  };
  const named = <T extends Finding>(found: readonly T[], file: string): readonly T[] =>
    found.map((finding) => (finding.span ? finding : { ...finding, file })).filter(isNew);
  const files = checked.flatMap(({ review }) => review.sources.map((source) => source.name));
  const findings = checked.flatMap(({ name, review }) => named(review.findings, name));
  const suppressed = checked.flatMap(({ name, review }) => named(review.suppressed, name));
  const ids = new Set([...findings, ...suppressed].map(({ rule }) => rule));
  return {
    findings,
    suppressed,
    rules: (checked[0]?.review.catalogue.rules ?? []).filter(({ id }) => ids.has(id)),
    files: [...new Set(files)],
    directives: checked.reduce((sum, { review }) => sum + directivesIn(review), 0),
    hidden: checked.flatMap(({ review }) => review.report.hidden),
  };
}

/** Number of directives; those of an included file count each time that it is included. */
function directivesIn({ tree, sources }: Review): number {
  const own = new Set(sources);
  const waiting = [...(tree?.directives ?? [])];
  let count = 0;
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (own.has(node.span.source)) count++;
    for (const inner of node.block ?? []) waiting.push(inner);
  }
  return count;
}

/** The numbers of findings and of available fixes. */
export interface Tally {
  readonly errors: number;
  readonly warnings: number;
  readonly infos: number;
  readonly files: number;
  readonly directives: number;
  /** Number of safe fixes (`--fix`). */
  readonly fixable: number;
  /** Number of further fixes (`--unsafe-fixes`). */
  readonly unsafelyFixable: number;
  readonly suppressed: number;
}

/** Counts the findings and fixes of a report. */
export function tallyOf({ findings, suppressed, files, directives }: CheckReport): Tally {
  const count = (is: (finding: Finding) => boolean): number => findings.filter(is).length;
  const of = (severity: RuleSeverity): number => count((finding) => finding.severity === severity);
  return {
    errors: of('error'),
    warnings: of('warning'),
    infos: of('info'),
    files: files.length,
    directives,
    fixable: count(({ fix }) => fix?.safe === true),
    unsafelyFixable: count(({ fix }) => fix?.safe === false),
    suppressed: suppressed.length,
  };
}

/** The summary line of a report. */
export function tallyText(tally: Tally): string {
  const { errors, warnings, infos, files, directives, fixable, unsafelyFixable, suppressed } = tally;
  const found = [counted(errors, 'error'), counted(warnings, 'warning'), counted(infos, 'info')];
  const what = errors + warnings + infos === 0 ? 'no findings' : found.join(', ');
  const parts = [`${what} in ${counted(files, 'file')} (${counted(directives, 'directive')})`];
  if (suppressed > 0) parts.push(`${suppressed} ignored`);
  const more = fixable > 0 ? `${unsafelyFixable} more` : `${unsafelyFixable} fixable`;
  const fixes = [
    fixable > 0 && `${fixable} fixable with --fix`,
    unsafelyFixable > 0 && `${more} with --unsafe-fixes`,
  ].filter(Boolean);
  if (fixes.length > 0) parts.push(fixes.join(', '));
  return parts.join(' · ');
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** A range of a file: lines and columns from 1, columns in code points, the end exclusive. */
export interface Range {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/** The range of a span. */
export function rangeOf(span: Span): Range {
  const { line, column } = placeOf(span);
  const end = placeOf({ ...span, start: span.end });
  return { line, column, endLine: end.line, endColumn: end.column };
}

/** The file of a finding. */
export function fileOf({ span, file = '' }: Finding): string {
  return span?.source.name ?? file;
}

/** The name of a file relative to a directory, with slashes; unchanged if it is outside. */
export function relativeTo(root: string, name: string): string {
  const path = relative(root, resolve(root, name));
  return isOutside(path) ? name : path.split(sep).join('/');
}

/** The URI of a file: relative below the root, else absolute. */
export function uriOf(root: string, name: string): { readonly uri: string; readonly isRelative: boolean } {
  const absolute = resolve(root, name);
  const path = relative(root, absolute);
  if (isOutside(path)) return { uri: pathToFileURL(absolute).href, isRelative: false };
  return { uri: path.split(sep).map(encodeURIComponent).join('/'), isRelative: true };
}

/** The URI of a directory, with its slash. */
export function directoryUri(root: string): string {
  return pathToFileURL(root.endsWith(sep) ? root : root + sep).href;
}

function isOutside(path: string): boolean {
  return path === '' || path === '..' || path.startsWith(`..${sep}`);
}
