import { readers } from '../../config/index.ts';
import { readServerAddress, type ServerConfig } from '../plan.ts';

/** A peer of a group that can be changed while it serves, as the API and the journal write it. */
export interface Member {
  /** `10.0.0.1:80`, `[::1]:80`; `unix:/path` only if the configuration has it. */
  readonly address: string;
  readonly weight: number;
  readonly backup: boolean;
  readonly down: boolean;
  readonly max_conns: number;
  readonly max_fails: number;
  /** In nginx's notation: `10s`. */
  readonly fail_timeout: string;
  readonly slow_start: string;
  readonly route?: string;
}

/** The members of a group, and their origin. */
export interface MemberSet {
  /** The number of changes of the set so far. Draining does not count. */
  readonly generation: number;
  /** Absent: the servers of the configuration. */
  readonly peers?: readonly Member[];
  /** Addresses that get bound requests only. They are not a part of the set, and stay when it is replaced. */
  readonly draining: readonly string[];
  readonly last_error_code: number;
  readonly last_error_at_msec: number;
  readonly last_success_at_msec: number;
  readonly restored_from_journal: boolean;
  readonly restore_error_code: number;
  /** Present if gateways share the set. */
  readonly sharing?: MemberSharing;
}

/** The state of sharing a set with the other gateways of a cluster. */
export interface MemberSharing {
  /**
   * `waits`: a change of this gateway has to be sent; `sent`: it is on its way; `known`: the store has it; `others`: the set
   * is that of another gateway, or will be replaced by one.
   */
  readonly state: 'waits' | 'sent' | 'known' | 'others';
  /** The number of the change that was sent last; 0 before the first one. */
  readonly sequence: number;
  /** The counter of the last entry of the stream that this gateway has seen. */
  readonly seen: number;
}

/** The set before any change: the servers of the configuration. */
export const CONFIGURED: MemberSet = {
  generation: 0,
  draining: [],
  last_error_code: 0,
  last_error_at_msec: 0,
  last_success_at_msec: 0,
  restored_from_journal: false,
  restore_error_code: 0,
};

/** The error of a change that is refused. */
export class MemberFault extends Error {
  /** The status of the response. */
  readonly status: number;
  /** The number in `last_error_code`. */
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The codes of `last_error_code`. */
export const MEMBER_CODES = {
  type: 415,
  json: 4001,
  shape: 4002,
  peer: 4003,
  room: 5001,
  unreadable: 5002,
  unhealthy: 5031,
} as const;

const MAX_ADDRESS_BYTES = 64;
const MAX_WEIGHT = 65_535;
const MAX_NUMBER = 2 ** 31 - 1;
const MAX_ROUTE_BYTES = 32;

/** The settings of a peer for which only the address is given. */
export const PLAIN: Omit<Member, 'address'> = {
  weight: 1,
  backup: false,
  down: false,
  max_conns: 0,
  max_fails: 1,
  fail_timeout: '10s',
  slow_start: '0',
};

/** Options for reading a list of peers. */
interface ListOptions {
  /** True if `unix:/path` is a valid address, because the list contains servers of the configuration. */
  readonly allowsSockets?: boolean;
  readonly allowsEmpty?: boolean;
}

/** Reads the body of PUT or the response of a source: `{"peers":[…]}`. Throws a `MemberFault`. */
export function readMembers(
  text: string,
  { allowsSockets = false, allowsEmpty = false }: ListOptions = {},
): readonly Member[] {
  const { peers } = readObject(text, ['peers']);
  const members = readList(peers, 'peers', (value, path) => readMember(value, path, PLAIN, allowsSockets));
  if (members.length === 0 && !allowsEmpty) throw shapeFault('peers must not be empty');
  refuseDuplicates(members.map(({ address }) => address));
  return members;
}

/** The changes in the body of PATCH. */
export type MemberPatch =
  | { readonly kind: 'drain' | 'undrain'; readonly address: string }
  | {
      readonly kind: 'lists';
      readonly add: readonly Member[];
      readonly remove: readonly string[];
      readonly replace: readonly Replacement[];
    };

interface Replacement {
  readonly current: string;
  /** The given fields; the others do not change. */
  readonly fields: Partial<Member> & Pick<Member, 'address'>;
}

/** Reads the body of PATCH. Throws a `MemberFault`. */
export function readPatch(text: string): MemberPatch {
  const body = readObject(text, ['drain', 'undrain', 'add', 'remove', 'replace']);
  const given = Object.keys(body);
  const [verb] = given;
  if (verb === undefined) throw shapeFault('one of drain, undrain, add, remove and replace is needed');
  const single = given.find((name) => name === 'drain' || name === 'undrain');
  if (single !== undefined) {
    if (given.length > 1) throw shapeFault(`${single} must be alone`);
    return { kind: single as 'drain' | 'undrain', address: readKnown(body[single], single) };
  }
  return {
    kind: 'lists',
    add: readList(body['add'] ?? [], 'add', (value, path) => readMember(value, path, PLAIN)),
    remove: readList(body['remove'] ?? [], 'remove', readKnown),
    replace: readList(body['replace'] ?? [], 'replace', readReplacement),
  };
}

function readReplacement(value: unknown, path: string): Replacement {
  const { current, ...fields } = asObject(value, path, ['current', ...FIELDS]);
  const address = readKnown(current, `${path}.current`);
  return { current: address, fields: readMember(fields, path, {}) };
}

/** The numbers in the response to PATCH. */
interface PatchedLists {
  readonly peers: readonly Member[];
  readonly added: number;
  readonly removed: number;
}

/** Applies lists to the peers of a set. Throws a `MemberFault`; then nothing is changed. */
export function patchMembers(
  peers: readonly Member[],
  { add, remove, replace }: Extract<MemberPatch, { kind: 'lists' }>,
): PatchedLists {
  refuseDuplicates(remove);
  refuseDuplicates(replace.map(({ current }) => current));
  const known = new Set(peers.map(({ address }) => address));
  for (const address of [...remove, ...replace.map(({ current }) => current)])
    if (!known.has(address)) throw unknownPeer(address);
  const gone = new Set(remove);
  for (const address of [...add, ...replace.map(({ fields }) => fields)].map((member) => member.address))
    if (gone.has(address))
      throw new MemberFault(409, MEMBER_CODES.peer, `"${address}" is removed in the same patch`);
  for (const { current } of replace)
    if (gone.has(current))
      throw new MemberFault(409, MEMBER_CODES.peer, `"${current}" is removed in the same patch`);
  const replacements = new Map(replace.map(({ current, fields }) => [current, fields]));
  const kept = peers.filter(({ address }) => !gone.has(address));
  const next = [...kept.map((member) => ({ ...member, ...replacements.get(member.address) })), ...add];
  refuseDuplicates(next.map(({ address }) => address));
  const moved = replace.filter(({ current, fields }) => fields.address !== current).length;
  return { peers: next, added: add.length + moved, removed: remove.length + moved };
}

/** What a set that another process has made may contain. */
interface MemberLimits {
  /** Number of peers that there is room for. */
  readonly room: number;
  /** The addresses of the configuration, of which only the sockets matter. */
  readonly configured: readonly string[];
}

/**
 * Throws a `MemberFault` if there is no room for the peers, or for a socket of others: sockets are files of one machine, and
 * one that the configuration does not name may not exist, or must not be reachable.
 */
export function refuseForeign(
  peers: readonly Pick<Member, 'address'>[],
  { room, configured }: MemberLimits,
): void {
  refuseMany(peers, room);
  const known = new Set(configured);
  for (const { address } of peers)
    if (address.startsWith('unix:') && !known.has(address))
      throw new MemberFault(400, MEMBER_CODES.peer, `"${address}" is not in the configuration`);
}

/** Throws a `MemberFault` if there is no room for the peers. */
export function refuseMany(peers: readonly unknown[], room: number): void {
  if (peers.length > room)
    throw new MemberFault(400, MEMBER_CODES.room, `${peers.length} peers exceed the room for ${room}`);
}

/** Returns the peer with its fields in one order, so that equal peers have equal texts. */
export function normalMember(member: Member): Member {
  const { address, weight, backup, down, max_conns, max_fails, fail_timeout, slow_start, route } = member;
  const fields = { address, weight, backup, down, max_conns, max_fails, fail_timeout, slow_start };
  return route === undefined ? fields : { ...fields, route };
}

/** Returns the fault of an address that is not in the set. */
export function unknownPeer(address: string): MemberFault {
  return new MemberFault(404, MEMBER_CODES.peer, `"${address}" is not in the set`);
}

/** Returns a server of the configuration, at one of its addresses, as a member. */
export function memberOf(server: ServerConfig, address: string, weight: number): Member {
  return {
    address,
    weight,
    backup: server.backup,
    down: server.down,
    max_conns: server.maxConnections,
    max_fails: server.maxFails,
    fail_timeout: `${server.failTimeoutSeconds}s`,
    slow_start: server.slowStartMs === 0 ? '0' : `${server.slowStartMs}ms`,
    ...(server.route !== undefined && { route: server.route }),
  };
}

/** Returns a member as a server of a group. */
export function serverOf(member: Member, isDraining: boolean): ServerConfig {
  const { address, weight, backup, down, max_conns, max_fails, fail_timeout, slow_start, route } = member;
  return {
    name: address,
    place: '',
    target: address.startsWith('unix:')
      ? { kind: 'unix', path: address.slice('unix:'.length) }
      : { kind: 'address', address },
    weight,
    backup,
    down,
    drain: isDraining,
    maxConnections: max_conns,
    maxFails: max_fails,
    failTimeoutSeconds: (readers.parseTimeMs(fail_timeout) ?? 0) / 1000,
    slowStartMs: readers.parseTimeMs(slow_start) ?? 0,
    ...(route !== undefined && { route }),
  };
}

const FIELDS = [
  'address',
  'weight',
  'backup',
  'down',
  'max_conns',
  'max_fails',
  'fail_timeout',
  'slow_start',
  'route',
] as const;

/** Reads a peer. Fields that are not given have the values of `absent`. */
// eslint-disable-next-line max-params -- two places call it with the same three
function readMember<T extends Partial<Member>>(
  value: unknown,
  path: string,
  absent: T,
  allowsSockets = false,
): T & Partial<Member> & Pick<Member, 'address'> {
  const given = asObject(value, path, FIELDS);
  const read: Record<string, unknown> = {
    address: readAddress(given['address'], `${path}.address`, allowsSockets),
  };
  for (const name of FIELDS) {
    const field = given[name];
    if (field !== undefined && name !== 'address') read[name] = FIELD_READERS[name](field, `${path}.${name}`);
  }
  return { ...absent, ...(read as Partial<Member> & Pick<Member, 'address'>) };
}

type FieldReader = (value: unknown, path: string) => unknown;

const FIELD_READERS: Readonly<Record<Exclude<(typeof FIELDS)[number], 'address'>, FieldReader>> = {
  weight: (value, path) => readNumber(value, path, { min: 1, max: MAX_WEIGHT }),
  backup: readFlag,
  down: readFlag,
  max_conns: (value, path) => readNumber(value, path, { min: 0, max: MAX_NUMBER }),
  max_fails: (value, path) => readNumber(value, path, { min: 0, max: MAX_NUMBER }),
  fail_timeout: readTime,
  slow_start: readTime,
  route: (value, path) => {
    const route = readText(value, path);
    if (Buffer.byteLength(route) <= MAX_ROUTE_BYTES) return route;
    throw peerFault(`${path} exceeds ${MAX_ROUTE_BYTES} bytes`);
  },
};

function readAddress(value: unknown, path: string, allowsSockets: boolean): string {
  const text = readText(value, path);
  if (allowsSockets && text.startsWith('unix:')) return text;
  refuseLong(text, path);
  const target = /:\d{1,5}$/.test(text) ? readServerAddress(text, 0) : 'no port';
  if (typeof target === 'object' && target.kind === 'address') return target.address;
  throw peerFault(`${path} must be an IP address with a port`);
}

/** Reads the address of a peer of the set. A text that is longer than any address is not looked up. */
function readKnown(value: unknown, path: string): string {
  const text = readText(value, path);
  // The path of a socket of the configuration may be longer.
  if (!text.startsWith('unix:')) refuseLong(text, path);
  return text;
}

function refuseLong(text: string, path: string): void {
  if (Buffer.byteLength(text) > MAX_ADDRESS_BYTES)
    throw peerFault(`${path} exceeds ${MAX_ADDRESS_BYTES} bytes`);
}

function readNumber(
  value: unknown,
  path: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw peerFault(`${path} must be an integer from ${min} to ${max}`);
}

function readFlag(value: unknown, path: string): boolean {
  if (typeof value === 'boolean') return value;
  throw peerFault(`${path} must be true or false`);
}

function readTime(value: unknown, path: string): string {
  const ms = typeof value === 'string' ? readers.parseTimeMs(value) : undefined;
  if (ms !== undefined && ms <= MAX_NUMBER) return value as string;
  throw peerFault(`${path} must be a time such as "10s"`);
}

function readText(value: unknown, path: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw shapeFault(`${path} must be a text`);
}

function readList<T>(value: unknown, path: string, read: (value: unknown, path: string) => T): readonly T[] {
  if (!Array.isArray(value)) throw shapeFault(`${path} must be a list`);
  return value.map((entry, nth) => read(entry, `${path}[${nth}]`));
}

function readObject(text: string, fields: readonly string[]): Readonly<Record<string, unknown>> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new MemberFault(400, MEMBER_CODES.json, 'body is not valid JSON');
  }
  return asObject(parsed, '', fields);
}

function asObject(
  value: unknown,
  path: string,
  fields: readonly string[],
): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw shapeFault(`${path || 'body'} must be a JSON object`);
  const foreign = Object.keys(value).find((name) => !fields.includes(name));
  if (foreign !== undefined) throw shapeFault(`${path && `${path}.`}${foreign} is not known`);
  return { ...value };
}

function refuseDuplicates(addresses: readonly string[]): void {
  const known = new Set<string>();
  const twice = addresses.find((address) => known.size === known.add(address).size);
  if (twice !== undefined)
    throw new MemberFault(409, MEMBER_CODES.peer, `"${twice}" is given more than once`);
}

function shapeFault(message: string): MemberFault {
  return new MemberFault(400, MEMBER_CODES.shape, message);
}

function peerFault(message: string): MemberFault {
  return new MemberFault(400, MEMBER_CODES.peer, message);
}
