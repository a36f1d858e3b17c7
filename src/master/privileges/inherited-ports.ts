import { addressText, type PortPlan } from '../../plan/index.ts';
import type { Inheritance } from '../upgrade/inheritance.ts';
import type { AcceptorThread } from './acceptor-thread.ts';
import type { SharedSockets } from './shared-sockets.ts';

/** Returns the ports that have to be probed: not those whose sockets are inherited, or beside an inherited wildcard. */
export function portsToProbe(
  ports: readonly PortPlan[],
  inheritance: Inheritance | undefined,
): readonly PortPlan[] {
  if (!inheritance) return ports;
  return ports.filter((port) => ![port, ...wildcardsOf(port)].some((each) => inheritance.has(each)));
}

function wildcardsOf({ address }: PortPlan): readonly Pick<PortPlan, 'address'>[] {
  if (address.kind === 'unix') return [];
  return ['0.0.0.0', '::'].map((host) => ({ address: { ...address, host } }));
}

interface Others {
  readonly inheritance: Inheritance | undefined;
  readonly ports: readonly PortPlan[];
  readonly acceptor: AcceptorThread | undefined;
  readonly shared: SharedSockets;
}

/** Takes the inherited sockets that the acceptor does not have: those of the node engine. */
export async function inheritOthers({ inheritance, ports, acceptor, shared }: Others): Promise<void> {
  if (!inheritance) return;
  for (const { address } of ports) {
    const key = addressText(address);
    if (!inheritance.has({ address }) || acceptor?.accepts(key)) continue;
    shared.adopt(key, await inheritance.takeAll(address));
  }
}
