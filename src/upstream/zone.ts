import type { PeersDeclaration } from '../zone/index.ts';
import type { ServerConfig, UpstreamPlan } from './plan.ts';

/** Addresses that a name may have before a worker keeps what it knows of the others to itself. */
const NAME_ADDRESSES = 8;
const RESOLVED_ADDRESSES = 32;

/** The shared memory of a group: twice the room, for two configurations share it while one follows the other. */
export function upstreamZone({ key, implicit, servers }: UpstreamPlan): PeersDeclaration {
  const slots = 2 * servers.reduce((sum, server) => sum + addressesOf(server), 0);
  return { name: implicit ? `server ${key}` : `upstream ${key}`, kind: 'peers', slots };
}

function addressesOf({ target, resolve }: ServerConfig): number {
  if (target.kind !== 'name') return 1;
  return resolve ? RESOLVED_ADDRESSES : NAME_ADDRESSES;
}
