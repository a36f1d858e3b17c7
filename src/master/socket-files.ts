import { rmSync } from 'node:fs';
import type { GatewayPlan } from '../plan/index.ts';

/** Removes the files of Unix sockets that this process has listened on, as nginx does when it ends. */
export function removeSocketFiles({ ports }: GatewayPlan): void {
  for (const { address } of ports) if (address.kind === 'unix') rmSync(address.path, { force: true });
}
