import { CONFIGURED, type MemberSet } from './member.ts';
import { readSharedSet, sharedSetText } from './shared-set.ts';

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

/** Reads such members, which are not trusted, as a text of shared memory. Throws a `MemberFault`. */
export function restoredMembers(carried: string): string {
  const { sequence: generation, peers, draining } = readSharedSet(carried);
  return JSON.stringify({ ...CONFIGURED, generation, ...(peers && { peers }), draining } satisfies MemberSet);
}
