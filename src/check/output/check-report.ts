import type { Span } from '../../../grammar/index.ts';
import type { Finding, SuppressedFinding } from '../finding.ts';
import type { Review } from '../review.ts';

/** What the formats print: the findings in all configurations that were checked. */
export interface CheckReport {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  /** Names of the files that were read. */
  readonly files: readonly string[];
  readonly directives: number;
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
  return {
    findings: checked.flatMap(({ name, review }) => named(review.findings, name)),
    suppressed: checked.flatMap(({ name, review }) => named(review.suppressed, name)),
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
