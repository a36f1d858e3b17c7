import type { Report, Span } from '../../../grammar/index.ts';
import type { UpstreamPlan } from '../../upstream/index.ts';

interface Checking {
  readonly others: readonly UpstreamPlan[];
  readonly span: Span | undefined;
  readonly report: Report;
}

/** An upstream has servers, and its name is its own. */
export function checkUpstream({ name, peers }: UpstreamPlan, { others, span, report }: Checking): void {
  if (others.some((other) => other.name === name)) report.emerg(`duplicate upstream "${name}"`, span);
  if (peers.length === 0) report.emerg('no servers are inside upstream', span);
}
