import type { Span } from '../../../../grammar/index.ts';
import type { RuleSeverity } from '../../../contract/index.ts';
import type { Finding, SuppressedFinding } from '../finding.ts';
import { type CheckReport, fileOf, type Range, rangeOf, type Tally, tallyOf } from './report.ts';
import { shownFix } from './shown-fix.ts';

/**
 * The output of `-f json`. `version` increases when a field changes its meaning or is removed; fields may be added at
 * any time.
 */
export interface JsonReport {
  readonly version: 1;
  /** Sorted by configuration, file in the order of reading, line and column. */
  readonly findings: readonly JsonFinding[];
  readonly suppressed: readonly (JsonFinding & Pick<SuppressedFinding, 'suppression'>)[];
  readonly summary: Tally;
}

/** A finding. Lines and columns count from 1, columns in code points; ends are exclusive. */
interface JsonFinding extends Partial<Range> {
  readonly rule: string;
  readonly slug: string;
  readonly severity: RuleSeverity;
  readonly message: string;
  /** The name of the file as given or included; there is no line if it cannot be read. */
  readonly file: string;
  readonly label?: string;
  readonly hint?: string;
  /** True if the configuration does not load because of it. */
  readonly refuses?: true;
  readonly related?: readonly (JsonPlace & { readonly label: string })[];
  readonly fix?: {
    readonly title: string;
    /** True if the fix changes no response. */
    readonly safe: boolean;
    readonly edits: readonly (JsonPlace & { readonly text: string })[];
  };
  /** Identifies the finding when lines move. */
  readonly fingerprint?: string;
}

type JsonPlace = Range & { readonly file: string };

/** The report as JSON, see `JsonReport`. */
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
