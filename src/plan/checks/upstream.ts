import type { DirectiveNode, Report, Span } from '../../../grammar/index.ts';
import { firstAt } from '../../config/index.ts';
import type { UpstreamPlan } from '../../upstream/index.ts';

interface Checking {
  /** The upstreams before it, and where each is declared. */
  readonly others: ReadonlyMap<string, Span | undefined>;
  readonly node: DirectiveNode | undefined;
  readonly report: Report;
}

/** An upstream has servers, and its name is its own. */
export function checkUpstream({ name, peers }: UpstreamPlan, { others, node, report }: Checking): void {
  const span = node?.name.span;
  if (others.has(name))
    report.emerg(`duplicate upstream "${name}"`, span, firstAt(others.get(name), 'declared'));
  // What stands in a block that is not empty has been reported itself.
  if (peers.length === 0 && !node?.block?.length) report.emerg('no servers are inside upstream', span);
}
