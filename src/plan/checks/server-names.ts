import type { Report, Span } from '../../../grammar/index.ts';
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
  const owners = new Map<string, Named>();
  for (const index of servers) {
    const server = all[index] as PlannedServer;
    for (const name of server.plan.names) {
      const text = textOf(name);
      const owner = text === undefined ? undefined : owners.get(text);
      if (text === undefined) continue;
      if (!owner) owners.set(text, { server, name });
      else {
        const first = spanOf(owner);
        const message = `conflicting server name "${text}" on ${addressText(address)}, ignored`;
        report.warn(message, spanOf({ server, name }), {
          rule: 'duplicate-server-name',
          related: first && [{ span: first, label: 'this server keeps the name' }],
        });
      }
    }
  }
}

interface Named {
  readonly server: PlannedServer;
  readonly name: ServerName;
}

/** The `server_name` that gives the name, or the server that has none. */
function spanOf({ server: { level, block }, name }: Named): Span | undefined {
  const directive = coreOf(level).serverNames?.findIndex((names) => names.includes(name)) ?? -1;
  return level.get('core')?.from.get('serverNames')?.spans[directive] ?? block.node?.name.span;
}

function textOf(name: ServerName): string | undefined {
  if (name.kind === 'exact') return name.name;
  if (name.kind === 'leading wildcard') return `*${name.suffix}`;
  return name.kind === 'trailing wildcard' ? `${name.prefix}*` : undefined;
}
