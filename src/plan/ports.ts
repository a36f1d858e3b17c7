import type { Report, Span } from '../../grammar/index.ts';
import type { ResolvedConfigs } from '../config/index.ts';
import type { ListenAddress, ListenConfig } from '../contract/index.ts';
import { checkServerNames } from './checks/server-names.ts';
import { coreOf } from './core.ts';
import { addressText } from './address-text.ts';
import type { PlannedServer } from './planned-server.ts';
import type { PortPlan } from './plan.ts';

interface OpenPort {
  readonly address: ListenAddress;
  readonly servers: number[];
  defaultServer: number | undefined;
}

/** The sockets of all servers; several servers on one address share it and are told apart by name. */
export function planPorts(servers: readonly PlannedServer[], report: Report): readonly PortPlan[] {
  const ports = new Map<string, OpenPort>();
  for (const [index, server] of servers.entries()) {
    const spans = server.level.get('core')?.from.get('listens')?.spans ?? [];
    for (const [nth, listen] of listensOf(server.level).entries()) {
      addListen({ ports, listen, index, span: spans[nth] ?? server.block.node?.name.span, report });
    }
  }
  for (const port of ports.values()) checkServerNames(port, servers, report);
  return [...ports.values()].map((port) => portPlan(port, servers));
}

function listensOf(level: ResolvedConfigs): readonly ListenConfig[] {
  const port = process.getuid?.() === 0 ? 80 : 8000;
  return (
    coreOf(level).listens ?? [{ address: { kind: 'inet', host: '0.0.0.0', port }, defaultServer: false }]
  );
}

interface Adding {
  readonly ports: Map<string, OpenPort>;
  readonly listen: ListenConfig;
  readonly index: number;
  readonly span: Span | undefined;
  readonly report: Report;
}

function addListen({ ports, listen, index, span, report }: Adding): void {
  const name = addressText(listen.address);
  const port: OpenPort = ports.get(name) ?? {
    address: listen.address,
    servers: [],
    defaultServer: undefined,
  };
  ports.set(name, port);
  if (port.servers.includes(index)) return report.emerg(`a duplicate listen ${name}`, span);
  if (listen.defaultServer && port.defaultServer !== undefined) {
    return report.emerg(`a duplicate default server for ${name}`, span);
  }
  port.servers.push(index);
  if (listen.defaultServer) port.defaultServer = index;
}

function portPlan({ address, servers, defaultServer }: OpenPort, all: readonly PlannedServer[]): PortPlan {
  const buffers = servers.map((index) => (all[index] as PlannedServer).plan.root.core.largeHeaderBuffers);
  return {
    address,
    servers,
    defaultServer: defaultServer ?? (servers[0] as number),
    headerLineBytes: Math.max(...buffers.map(({ sizeBytes }) => sizeBytes)),
    headBytes: Math.max(...buffers.map(({ number, sizeBytes }) => number * sizeBytes)),
  };
}
