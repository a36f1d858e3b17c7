import { type Member, MEMBER_CODES, MemberFault } from '../../../upstream/index.ts';

/** A source of peers. */
export interface Source {
  /**
   * Asks for the peers; `undefined` if they have not changed. Rejects with a `MemberFault`. Settles soon after the
   * signal.
   */
  ask(signal: AbortSignal): Promise<FoundMembers | undefined>;
}

/** The peers that a source gives. */
interface FoundMembers {
  readonly members: readonly Member[];
  /** The time for which the records are valid and need not be asked for again. */
  readonly validMs?: number;
}

/** Longest response or file of a source. */
export const MAX_SOURCE_BYTES = 1_048_576;

/** Returns a peer with an address, the given fields and defaults. */
export function plainMember(address: string, given: Partial<Member> = {}): Member {
  return {
    weight: 1,
    backup: false,
    down: false,
    max_conns: 0,
    max_fails: 1,
    fail_timeout: '10s',
    slow_start: '0',
    ...given,
    address,
  };
}

/** Returns the fault of a source that cannot be read. */
export function unreadable(message: string): MemberFault {
  return new MemberFault(502, MEMBER_CODES.unreadable, message);
}
