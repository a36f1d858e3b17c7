import { type Member, MEMBER_CODES, MemberFault, PLAIN, readMembers, refuseMany } from './member.ts';

/** The set of a group as gateways share it. */
export interface SharedSet {
  /** The node that has made it, and its number for the change. */
  readonly node: string;
  readonly sequence: number;
  /** Identifies the servers of the configuration that it was made for. */
  readonly configured: string;
  /** `undefined` for the servers of the configuration. */
  readonly peers: readonly Member[] | undefined;
  readonly draining: readonly string[];
}

const MAX_DRAINING = 4096;
const MAX_ADDRESS_BYTES = 128;

/** Writes a set as JSON without default values, so that many peers fit into one entry. */
export function sharedSetText({ peers, ...set }: SharedSet): string {
  return JSON.stringify(peers ? { ...set, peers: peers.map(briefMember) } : set);
}

/** Reads the JSON of a set of at most `room` peers, which is not trusted. Throws a `MemberFault`. */
export function readSharedSet(text: string, room = Infinity): SharedSet {
  const { node, sequence, configured, peers, draining } = objectIn(text);
  if (typeof node !== 'string' || !/^[\w.-]{1,64}$/.test(node)) throw shapeFault('"node" is no name');
  if (!Number.isSafeInteger(sequence) || (sequence as number) < 0)
    throw shapeFault('"sequence" is no number');
  if (typeof configured !== 'string') throw shapeFault('"configured" is no text');
  if (!Array.isArray(draining) || draining.length > MAX_DRAINING || !draining.every(isAddress))
    throw shapeFault('"draining" is no list of addresses');
  // Before each of them is read, which takes longer.
  if (Array.isArray(peers)) refuseMany(peers, room);
  return {
    node,
    sequence: sequence as number,
    configured,
    draining,
    peers:
      peers === undefined
        ? undefined
        : readMembers(JSON.stringify({ peers }), { allowsSockets: true, allowsEmpty: true }),
  };
}

function briefMember(member: Member): Partial<Member> {
  const isSaid = ([name, value]: [string, unknown]): boolean => PLAIN[name as keyof typeof PLAIN] !== value;
  return Object.fromEntries(Object.entries(member).filter(isSaid));
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch {
    // Not JSON.
  }
  throw shapeFault('it is no JSON object');
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= MAX_ADDRESS_BYTES;
}

function shapeFault(message: string): MemberFault {
  return new MemberFault(400, MEMBER_CODES.shape, message);
}
