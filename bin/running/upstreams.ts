import { reachGroups } from '../../src/tools/lookups.ts';
import { columns, visible } from '../terminal.ts';
import {
  callApi,
  type ControlOptions,
  type ControlTarget,
  fail,
  loadPlan,
  parseAddress,
  targetAt,
  targetOf,
} from './control-client.ts';

/** Options of all `gw upstream` commands. */
export interface UpstreamOptions extends ControlOptions {
  readonly json?: boolean;
}

/** Options of `gw upstream add`. */
export interface AddOptions extends UpstreamOptions {
  readonly weight?: string;
  readonly backup?: boolean;
  readonly slowStart?: string;
}

/** A peer in a response of the API. */
interface ShownPeer {
  readonly address: string;
  readonly weight: number;
  readonly backup: boolean;
  readonly state: string;
  readonly active_requests: number;
  readonly fails: number;
}

interface ShownGroup {
  readonly target: string;
  readonly source: string;
  readonly generation: number;
  readonly peers: readonly ShownPeer[];
}

/** Returns the APIs of the groups, by name; with `address` only that one. A text gives the reason if none is found. */
function findGroups({ address, ...options }: ControlOptions): ReadonlyMap<string, ControlTarget> | string {
  if (address !== undefined) {
    const base = parseAddress(address);
    if (base && base.pathname !== '/') return new Map([['', targetOf(base, base.pathname)]]);
    return `gw: invalid address "${address}"\n  expected the API of a group, such as http://host:port/upstreams/app`;
  }
  const loaded = loadPlan(options);
  if (typeof loaded === 'string') return loaded;
  const reached = reachGroups(loaded.plan);
  if (reached.size > 0) return new Map([...reached].map(([name, reach]) => [name, targetAt(reach)]));
  return (
    loaded.refusal ??
    `gw: no location of ${loaded.name} serves "dynamic_upstreams_api"\n  name one with --address`
  );
}

function findGroup(name: string, options: ControlOptions): ControlTarget | string {
  const groups = findGroups(options);
  if (typeof groups === 'string') return groups;
  const found = options.address === undefined ? groups.get(name) : groups.get('');
  if (found) return found;
  const known = [...groups.keys()].map((group) => `"${group}"`).join(', ');
  return `gw: no location serves the API of upstream "${name}"\n  there is one of ${known}`;
}

/** `gw upstream list [NAME]`: prints the peers of managed groups. Exit code 1: a group did not respond. */
export async function listPeers(
  name: string | undefined,
  { json, ...options }: UpstreamOptions,
): Promise<number> {
  const groups = findGroups(options);
  if (typeof groups === 'string') return fail(groups);
  if (name !== undefined && options.address === undefined && !groups.has(name))
    return fail(findGroup(name, options) as string);
  const shown: ShownGroup[] = [];
  try {
    for (const [group, target] of groups) {
      if (name !== undefined && group !== name && group !== '') continue;
      shown.push(JSON.parse(await callApi(target, {})) as ShownGroup);
    }
  } catch (error) {
    return fail(`gw: ${visible((error as Error).message)}`);
  }
  process.stdout.write(json ? `${JSON.stringify(shown)}\n` : tableOf(shown));
  return 0;
}

function tableOf(groups: readonly ShownGroup[]): string {
  return columns([
    ['UPSTREAM', 'PEER', 'STATE', 'WEIGHT', 'ACTIVE', 'FAILS'],
    ...groups.flatMap(({ target, peers }) =>
      peers.map(({ address, state, weight, backup, active_requests: active, fails }) => [
        visible(target),
        visible(address),
        backup ? `${state}, backup` : state,
        String(weight),
        String(active),
        String(fails),
      ]),
    ),
  ]);
}

/** `gw upstream add NAME ADDRESS`: adds a peer. Exit code 1: it was not added; 2: an option is wrong. */
export function addPeer(
  name: string,
  address: string,
  { weight, backup, slowStart, ...options }: AddOptions,
): Promise<number> {
  const peer = {
    address,
    ...(weight !== undefined && { weight: numberOf(weight) }),
    ...(backup && { backup }),
    ...(slowStart !== undefined && { slow_start: slowStart }),
  };
  return change(name, { patch: { add: [peer] }, does: `added to ${name}: ${address}` }, options);
}

/** `gw upstream remove NAME ADDRESS`: removes a peer. Exit code 1: it was not removed. */
export function removePeer(name: string, address: string, options: UpstreamOptions): Promise<number> {
  return change(name, { patch: { remove: [address] }, does: `removed from ${name}: ${address}` }, options);
}

/** `gw upstream drain|undrain NAME ADDRESS`. Exit code 1: nothing was done. */
export function drainPeer(
  verb: 'drain' | 'undrain',
  [name, address]: readonly [name: string, address: string],
  options: UpstreamOptions,
): Promise<number> {
  const does = verb === 'drain' ? 'gets bound requests only' : 'gets new requests again';
  return change(name, { patch: { [verb]: address }, does: `${address} of ${name} ${does}` }, options);
}

/** `gw upstream weight NAME ADDRESS WEIGHT`. Exit code 1: nothing was done. */
export function weighPeer(
  [name, address, weight]: readonly [name: string, address: string, weight: string],
  options: UpstreamOptions,
): Promise<number> {
  const replace = [{ current: address, address, weight: numberOf(weight) }];
  return change(name, { patch: { replace }, does: `${address} of ${name} has weight ${weight}` }, options);
}

/** Returns a number if the text is one; otherwise the API reports the fault. */
function numberOf(text: string): number | string {
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}

interface GroupChange {
  readonly patch: object;
  /** The text that is printed after a change. */
  readonly does: string;
}

async function change(
  name: string,
  { patch, does }: GroupChange,
  { json, ...options }: UpstreamOptions,
): Promise<number> {
  const target = findGroup(name, options);
  if (typeof target === 'string') return fail(target);
  try {
    const body = await callApi(target, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(patch),
    });
    const { changed, generation } = JSON.parse(body) as { changed: boolean; generation: number };
    const line = `${changed ? does : 'nothing changed'} (generation ${generation})\n`;
    process.stdout.write(json ? `${body}\n` : visible(line.trimEnd()) + '\n');
    return 0;
  } catch (error) {
    return fail(`gw: ${visible((error as Error).message)}`);
  }
}
