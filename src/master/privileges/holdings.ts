import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Account } from '../../config/index.ts';
import type { ListenAddress } from '../../contract/index.ts';
import { addressText } from '../../plan/index.ts';
import type { GatewayPlan, PortPlan } from '../../plan/index.ts';
import type { Holdings } from '../keeper/index.ts';

/** What root does for this configuration once an account serves it. */
export function holdingsOf({ main, ports }: GatewayPlan, account: Account): Holdings {
  return {
    account,
    addresses: portsOfRoot(ports).map(({ address }) => ({ key: addressText(address), address })),
    written: main.written,
    pidFile: resolve(main.prefix, main.core.pidFile),
  };
}

/** Those that only root can bind: low ports, and Unix sockets, which usually lie in directories of root. */
export function portsOfRoot(ports: readonly PortPlan[]): readonly PortPlan[] {
  const first = firstFreePort();
  return ports.filter(({ address }) => needsRoot(address, first));
}

function needsRoot(address: ListenAddress, firstFree: number): boolean {
  return address.kind === 'unix' || address.port < firstFree;
}

/** The first port that everybody may bind: 1024, unless Linux was told otherwise. */
function firstFreePort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  } catch {
    return 1024;
  }
}
