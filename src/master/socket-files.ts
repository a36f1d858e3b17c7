import { lstatSync, rmSync } from 'node:fs';
import type { ListenAddress } from '../contract/index.ts';
import type { GatewayPlan } from '../plan/index.ts';

/** Removes the files of Unix sockets that this process has listened on, as nginx does when it ends. */
export function removeSocketFiles({ ports }: GatewayPlan): void {
  for (const { address } of ports) removeSocketFile(address);
}

/** A Unix socket is replaced, not shared; its file may be left over from a process that was killed. */
export function removeSocketFile(address: ListenAddress): void {
  if (address.kind !== 'unix') return;
  if (lstatSync(address.path, { throwIfNoEntry: false })?.isSocket()) rmSync(address.path);
}

/** Whether something else than a socket is there: uWebSockets.js would remove even that. */
export function isOtherFile(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false;
  } catch {
    // The bind tells why nobody gets there.
    return false;
  }
}
