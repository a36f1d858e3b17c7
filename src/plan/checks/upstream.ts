import type { Report, Span } from '../../../grammar/index.ts';
import { type BoundBlock, firstAt, type ResolvedConfig } from '../../config/index.ts';
import type { Balancing, ServerConfig, UpstreamPlan } from '../../upstream/index.ts';

/** An `upstream` block: its plan, its text and its config. */
interface CheckedUpstream {
  readonly plan: UpstreamPlan;
  readonly block: BoundBlock;
  readonly config: ResolvedConfig;
}

/** Checks that an upstream has a server which is not a backup, and that its balancing method supports each parameter. */
export function checkUpstream({ plan, block, config }: CheckedUpstream, report: Report): void {
  const span = block.node?.name.span;
  const { servers } = plan;
  if (servers.length === 0) {
    // The faults of a block that is not empty have been reported.
    if (!hasServers(block)) report.emerg('no servers are inside upstream', span);
  } else if (servers.every(({ backup }) => backup))
    report.emerg(`no servers in upstream "${plan.name}"`, span);
  checkMethods(config, report);
  checkBackups(config, report);
  checkResolving(plan, config, report);
}

function hasServers({ node }: BoundBlock): boolean {
  return node?.block?.some(({ name }) => name.value === 'server') === true;
}

function checkMethods({ from }: ResolvedConfig, report: Report): void {
  const [first, ...others] = from.get('balancing')?.spans ?? [];
  for (const span of others) report.warn('load balancing method redefined', span, firstAt(first, 'set'));
}

/** Some methods refuse backups, but only if the method comes first, because nginx reads from top to bottom. */
function checkBackups({ value, from }: ResolvedConfig, report: Report): void {
  const spans = from.get('servers')?.spans ?? [];
  for (const [index, { backup }] of ((value['servers'] ?? []) as readonly ServerConfig[]).entries()) {
    const span = spans[index];
    if (!backup || !span || !refusesBackups(methodBefore(span, { value, from }))) continue;
    report.emerg('balancing method does not support parameter "backup"', span);
  }
}

function refusesBackups(method: Balancing | undefined): boolean {
  return method !== undefined && method.kind !== 'round robin' && method.kind !== 'least_conn';
}

function methodBefore(span: Span, { value, from }: ResolvedConfig): Balancing | undefined {
  const methods = (value['balancing'] ?? []) as readonly Balancing[];
  const spans = from.get('balancing')?.spans ?? [];
  return methods.findLast((_, index) => isBefore(spans[index], span));
}

/** The order is known within one file only: a method from an include counts as later. */
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
