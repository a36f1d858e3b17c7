import type { Finding } from '../finding.ts';
import type { RuleSeverity } from '../rule.ts';
import type { CheckReport } from './check-report.ts';

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
