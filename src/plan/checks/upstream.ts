import type { Report, Span } from '../../../grammar/index.ts';
import { type BoundBlock, firstAt, type ResolvedConfig } from '../../config/index.ts';
import { type Balancing, type ServerConfig, type UpstreamPlan } from '../../upstream/index.ts';

/** An `upstream` block: its plan, its text and its config. */
interface CheckedUpstream {
  readonly plan: UpstreamPlan;
  readonly block: BoundBlock;
  readonly config: ResolvedConfig;
}

/** Checks that an upstream has a server other than a backup, and that its balancing method supports each parameter. */
export function checkUpstream({ plan, block, config }: CheckedUpstream, report: Report): void {
  const span = block.node?.name.span;
  const { servers } = plan;
  if (servers.length === 0) {
    // Faults of a block with content have been reported already.
    if (!hasServers(block)) report.emerg('no servers are inside upstream', span);
  } else if (servers.every(({ backup }) => backup))
    report.emerg(`no servers in upstream "${plan.name}"`, span);
  checkMethods(config, report);
  checkParameters(config, report);
  checkResolving(plan, config, report);
  checkSticky(config, report);
}

/** Checks that an upstream has at most one way of binding requests to peers. */
function checkSticky({ from }: ResolvedConfig, report: Report): void {
  const [sticky, key] = [from.get('sticky'), from.get('stickyKey')];
  if (sticky && key)
    report.emerg(`"${key.directive}" excludes "sticky"`, key.spans[0], firstAt(sticky.spans[0], 'set'));
}

function hasServers({ node }: BoundBlock): boolean {
  return node?.block?.some(({ name }) => name.value === 'server') === true;
}

function checkMethods({ from }: ResolvedConfig, report: Report): void {
  const [first, ...others] = from.get('balancing')?.spans ?? [];
  for (const span of others) report.warn('load balancing method redefined', span, firstAt(first, 'set'));
}

/** Reports parameters that the method refuses. `backup` is refused only after the method (nginx reads top-down). */
function checkParameters({ value, from }: ResolvedConfig, report: Report): void {
  const spans = from.get('servers')?.spans ?? [];
  const method = ((value['balancing'] ?? []) as readonly Balancing[]).at(-1);
  for (const [index, server] of ((value['servers'] ?? []) as readonly ServerConfig[]).entries()) {
    const span = spans[index];
    const before = span && methodBefore(span, { value, from });
    if (server.backup && before && KEYED.has(before.kind))
      report.emerg('balancing method does not support parameter "backup"', span);
    if (server.slowStartMs > 0 && method && KEYED.has(method.kind))
      report.emerg('balancing method does not support parameter "slow_start"', span);
  }
}

/** Methods that send a request to a fixed or a random point among the weights. */
const KEYED: ReadonlySet<Balancing['kind']> = new Set(['ip_hash', 'hash', 'random']);

function methodBefore(span: Span, { value, from }: ResolvedConfig): Balancing | undefined {
  const methods = (value['balancing'] ?? []) as readonly Balancing[];
  const spans = from.get('balancing')?.spans ?? [];
  return methods.findLast((_, index) => isBefore(spans[index], span));
}

/** Order is known within one file only: a method from an include counts as later. */
function isBefore(a: Span | undefined, b: Span): boolean {
  return a !== undefined && a.source === b.source && a.start < b.start;
}

function checkResolving(
  { name, servers, resolver }: UpstreamPlan,
  { from }: ResolvedConfig,
  report: Report,
): void {
  const index = servers.findIndex(({ resolve }) => resolve);
  if (index < 0 || resolver) return;
  const message = `no resolver defined to resolve names at run time in upstream "${name}"`;
  report.emerg(message, from.get('servers')?.spans[index]);
}
