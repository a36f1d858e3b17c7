import type { Report } from '../../../grammar/index.ts';
import type { ServerName } from '../../contract/index.ts';
import { coreOf } from '../core.ts';
import { addressText } from '../address-text.ts';
import type { PlannedServer } from '../planned-server.ts';
import type { PortPlan } from '../plan.ts';

/** Two servers of one port with the same name: the first keeps it (nginx warns and goes on). */
export function checkServerNames(
  { address, servers }: Pick<PortPlan, 'address' | 'servers'>,
  all: readonly PlannedServer[],
  report: Report,
): void {
  const owners = new Map<string, number>();
  for (const index of servers) {
    const { plan, level, block } = all[index] as PlannedServer;
    for (const name of plan.names) {
      const text = textOf(name);
      if (text === undefined) continue;
      const owner = owners.get(text);
      if (owner === undefined) owners.set(text, index);
      else {
        const directive = coreOf(level).serverNames?.findIndex((names) => names.includes(name)) ?? -1;
        const span = level.get('core')?.from.get('serverNames')?.spans[directive] ?? block.node?.name.span;
        report.warn(`conflicting server name "${text}" on ${addressText(address)}, ignored`, span);
      }
    }
  }
}

function textOf(name: ServerName): string | undefined {
  if (name.kind === 'exact') return name.name;
  if (name.kind === 'leading wildcard') return `*${name.suffix}`;
  return name.kind === 'trailing wildcard' ? `${name.prefix}*` : undefined;
}
