import type { CarriedMembers } from '../../zone/index.ts';
import {
  CONFIGURED,
  MEMBER_CODES,
  MemberFault,
  type MemberSet,
  normalMember,
  refuseForeign,
} from './member.ts';
import { readSharedSet, sharedSetText } from './shared-set.ts';

/** The highest generation that is taken over. The set can still change as often as it likes. */
const MOST_GENERATION = 2 ** 52;

/**
 * Returns the members in a text of shared memory for the program of an upgrade; `undefined` if they are those of the
 * configuration, or are in the store of a cluster.
 */
export function carriedMembers(text: string): string | undefined {
  if (text === '') return undefined;
  const { generation, peers, draining, sharing } = JSON.parse(text) as MemberSet;
  // A journal, which may have members, is read only if there are none yet.
  const isNew = generation === 0 && draining.length === 0;
  if (isNew || sharing !== undefined) return undefined;
  return sharedSetText({ node: 'upgrade', sequence: generation, configured: '', peers, draining });
}

/**
 * Reads such members, which are not trusted, as a text of shared memory. They are refused as those of another gateway are.
 * Throws a `MemberFault`.
 */
export function restoredMembers(carried: string, { room, sockets }: CarriedMembers): string {
  const { sequence: generation, peers, draining } = readSharedSet(carried, room);
  if (generation > MOST_GENERATION)
    throw new MemberFault(400, MEMBER_CODES.shape, `"sequence" exceeds ${MOST_GENERATION}`);
  if (peers) refuseForeign(peers, { room, configured: sockets });
  const restored = { ...(peers && { peers: peers.map(normalMember) }), draining };
  return JSON.stringify({ ...CONFIGURED, generation, ...restored } satisfies MemberSet);
}
