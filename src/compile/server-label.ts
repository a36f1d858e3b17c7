import { addressText } from '../plan/index.ts';
import type { GatewayPlan, ServerPlan } from '../plan/index.ts';

/** What metrics and views call a server: one without a name goes by the first address it listens on. */
export function serverLabel(server: ServerPlan, { servers, ports }: GatewayPlan): string {
  const port = ports.find((candidate) => candidate.servers.includes(servers.indexOf(server)));
  return server.name || (port ? addressText(port.address) : '');
}
