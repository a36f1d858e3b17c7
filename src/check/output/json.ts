import type { Span } from '../../../grammar/index.ts';
import type { RuleSeverity } from '../../contract/index.ts';
import type { Finding, SuppressedFinding } from '../finding.ts';
import { type CheckReport, fileOf, type Range, rangeOf, type Tally, tallyOf } from './report.ts';
import { shownFix } from './shown-fix.ts';

/** What `-f json` prints. `version` grows when a field changes its meaning or goes; new fields may come at any time. */
export interface JsonReport {
  readonly version: 1;
  /** By configuration, then by file in the order of reading, line and column. */
  readonly findings: readonly JsonFinding[];
  readonly suppressed: readonly (JsonFinding & Pick<SuppressedFinding, 'suppression'>)[];
  readonly summary: Tally;
}

/** One finding. Lines and columns count from 1, columns in code points; ends are exclusive. */
export interface JsonFinding extends Partial<Range> {
  readonly rule: string;
  readonly slug: string;
  readonly severity: RuleSeverity;
  readonly message: string;
  /** As it was given, or as it was included; without a line where the file cannot be read. */
  readonly file: string;
  readonly label?: string;
  readonly hint?: string;
  /** The configuration does not load because of it. */
  readonly refuses?: true;
  readonly related?: readonly (JsonPlace & { readonly label: string })[];
  readonly fix?: {
    readonly title: string;
    /** Requests are answered as before. */
    readonly safe: boolean;
    readonly edits: readonly (JsonPlace & { readonly text: string })[];
  };
  /** Stays when lines move. */
  readonly fingerprint?: string;
}

type JsonPlace = Range & { readonly file: string };

/** For programs: see `JsonReport`. */
export function json(report: CheckReport): string {
  const { findings, suppressed } = report;
  const value: JsonReport = {
    version: 1,
    findings: findings.map((finding) => jsonFinding(finding, report)),
    suppressed: suppressed.map((finding) => ({
      ...jsonFinding(finding, report),
      suppression: finding.suppression,
    })),
    summary: tallyOf(report),
  };
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function jsonFinding(finding: Finding, { hidden }: CheckReport): JsonFinding {
  const { rule, slug, severity, message, span, label, hint, refuses, related = [], fingerprint } = finding;
  const fix = shownFix(finding, hidden);
  return {
    rule,
    slug,
    severity,
    message,
    file: fileOf(finding),
    ...(span && rangeOf(span)),
    ...(label !== undefined && { label }),
    ...(hint !== undefined && { hint }),
    ...(refuses && { refuses }),
    ...(related.length > 0 && {
      related: related.map((place) => ({ ...jsonPlace(place.span), label: place.label })),
    }),
    ...(fix && {
      fix: { ...fix, edits: fix.edits.map((edit) => ({ ...jsonPlace(edit.span), text: edit.text })) },
    }),
    ...(fingerprint !== undefined && { fingerprint }),
  };
}

function jsonPlace(span: Span): JsonPlace {
  return { file: span.source.name, ...rangeOf(span) };
}
