import { relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { placeOf, type Span } from '../../../grammar/index.ts';
import type { Rule, RuleSeverity } from '../../contract/index.ts';
import type { Finding, SuppressedFinding } from '../finding.ts';
import type { Review } from '../review.ts';

/** What the formats print: the findings in all configurations that were checked. */
export interface CheckReport {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  /** Names of the files that were read. */
  readonly files: readonly string[];
  readonly directives: number;
  /** Those that found something, in the order of the ids. */
  readonly rules: readonly Rule[];
  /** Stretches that are never shown. */
  readonly hidden: readonly Span[];
}

/** A configuration that was checked, by the name of its main file. */
export interface CheckedFile {
  readonly name: string;
  readonly review: Review;
}

/** One report of several configurations; what they share is in it once. */
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

/** Those of an included file count as often as it is included. */
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

/** How much was found, and how much of it can be mended by machine. */
export interface Tally {
  readonly errors: number;
  readonly warnings: number;
  readonly infos: number;
  readonly files: number;
  readonly directives: number;
  /** With `--fix`. */
  readonly fixable: number;
  /** With `--unsafe-fixes` besides. */
  readonly unsafelyFixable: number;
  readonly suppressed: number;
}

/** Counts what a report holds. */
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

/** The last line of what people read. */
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

/** A stretch of a file as people count: from 1, columns in code points, the end exclusive. */
export interface Range {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/** Where a span begins and ends. */
export function rangeOf(span: Span): Range {
  const { line, column } = placeOf(span);
  const end = placeOf({ ...span, start: span.end });
  return { line, column, endLine: end.line, endColumn: end.column };
}

/** The file that a finding is in. */
export function fileOf({ span, file = '' }: Finding): string {
  return span?.source.name ?? file;
}

/** A name of a file from a directory on, with slashes; as it is where it lies outside of it. */
export function relativeTo(root: string, name: string): string {
  const path = relative(root, resolve(root, name));
  return isOutside(path) ? name : path.split(sep).join('/');
}

/** A file as a URI: relative below the root, else absolute. */
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
