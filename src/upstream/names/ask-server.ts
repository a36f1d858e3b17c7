import { addressOf } from '../server-address.ts';
import type { ServerAddress } from '../group.ts';
import type { ServerConfig } from '../plan.ts';
import { NameFault } from './fault.ts';
import type { NameResolver } from './name-resolver.ts';
import { lookUpHost } from './system-lookup.ts';
import type { Found } from './watch.ts';

/** How the addresses of a server with a name are found; `undefined`: it has none, or needs a resolver that is not there. */
export function askFor(
  { target, resolve }: ServerConfig,
  resolver?: NameResolver,
): (() => Promise<Found>) | undefined {
  if (target.kind !== 'name') return undefined;
  const { host, port } = target;
  if (!resolve) return async () => ({ addresses: await askSystem(host, port), againMs: undefined });
  if (!resolver) return undefined;
  const { service } = resolve;
  return async () => {
    try {
      return service === undefined
        ? await askNames(resolver, host, port)
        : await askService(resolver, `${serviceName(service)}.${host}`);
    } catch (error) {
      // nginx: who is said to be gone leaves the group; who says nothing changes nothing.
      if (error instanceof NameFault && error.isAbsent) return { addresses: [], againMs: 0, fault: error };
      throw error;
    }
  };
}

async function askSystem(host: string, port: number): Promise<ServerAddress[]> {
  const addresses = await lookUpHost(host);
  return addresses.map((ip) => ({ address: addressOf(ip, port) }));
}

async function askNames(resolver: NameResolver, host: string, port: number): Promise<Found> {
  const { addresses, validMs } = await resolver.addresses(host);
  // In one order, so that the peers are the same whatever order the answers come in.
  return {
    addresses: addresses.toSorted().map((ip) => ({ address: addressOf(ip, port) })),
    againMs: validMs,
  };
}

/** Those with the best priority are the servers, the others their backups (nginx). */
async function askService(resolver: NameResolver, name: string): Promise<Found> {
  const { records, validMs } = await resolver.service(name);
  const best = Math.min(...records.map(({ priority }) => priority));
  const addresses = records
    .toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1))
    .flatMap(({ addresses: ips, port, weight, priority }) =>
      ips.map((ip) => ({
        address: addressOf(ip, port),
        weight: Math.max(1, weight),
        backup: priority > best,
      })),
    );
  return { addresses, againMs: validMs };
}

/** `http` is `_http._tcp`; a text with a dot stands as it is. */
function serviceName(service: string): string {
  return service.includes('.') ? service : `_${service}._tcp`;
}
