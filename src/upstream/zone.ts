import type { PeersDeclaration } from '../zone/index.ts';
import type { ServerConfig, UpstreamPlan } from './plan.ts';

/** Addresses that a name may have before a worker keeps what it knows of the others to itself. */
const NAME_ADDRESSES = 8;
const RESOLVED_ADDRESSES = 32;

/** A few more workers do not make gw forget what it knows of peers. */
const THREADS_STEP = 16;

/** The shared memory of a group: twice the room, for two configurations share it while one follows the other. */
export function upstreamZone(plan: UpstreamPlan, workers: number): PeersDeclaration {
  const slots = 2 * plan.servers.reduce((sum, server) => sum + addressesOf(server), 0);
  const threads = THREADS_STEP * Math.ceil((workers + 1) / THREADS_STEP);
  return { name: upstreamZoneName(plan), kind: 'peers', slots, threads };
}

/** The name of that memory. */
export function upstreamZoneName({ key, implicit }: UpstreamPlan): string {
  return implicit ? `server ${key}` : `upstream ${key}`;
}

function addressesOf({ target, resolve }: ServerConfig): number {
  if (target.kind !== 'name') return 1;
  return resolve ? RESOLVED_ADDRESSES : NAME_ADDRESSES;
}
