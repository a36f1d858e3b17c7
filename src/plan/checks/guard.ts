import type { Report } from '../../../grammar/index.ts';
import type { ResolvedConfigs } from '../../config/index.ts';
import type { AnyModule, CoreConfig } from '../../contract/index.ts';
import { coreOf } from '../core.ts';

const LOOPBACK = /^(127\.|::1$|localhost$)/;

/** True when a server can be reached from other machines. */
export function isPublic({ listens }: CoreConfig): boolean {
  // Without a `listen` a server has all addresses.
  return listens?.some(({ address }) => address.kind === 'inet' && !LOOPBACK.test(address.host)) ?? true;
}

/** A location of a public server that strangers must not call, and that nothing keeps them out of. */
export function checkGuard(used: readonly AnyModule[], level: ResolvedConfigs, report: Report): void {
  const configOf = ({ name }: AnyModule): object => level.get(name)?.value as object;
  if (coreOf(level).internal || used.some((module) => module.guards?.(configOf(module)))) return;
  for (const module of used) {
    const field = module.wantsGuard?.(configOf(module));
    const from = field === undefined ? undefined : level.get(module.name)?.from.get(field);
    if (!from) continue;
    const message = `"${from.directive}" can be called by everybody`;
    report.warn(
      message,
      from.spans[0],
      'add allow and deny, or listen on a loopback address or a Unix socket',
    );
  }
}
