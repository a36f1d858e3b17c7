import { type Member, MEMBER_CODES, MemberFault } from '../../../upstream/index.ts';

/** Where peers come from. */
export interface Source {
  /**
   * Asks for the peers. `undefined`: they are the same as before. Rejects with a `MemberFault`. It ends by itself soon after
   * the signal.
   */
  ask(signal: AbortSignal): Promise<FoundMembers | undefined>;
}

/** The peers that a source gives. */
interface FoundMembers {
  readonly members: readonly Member[];
  /** Do not ask earlier: the records are valid as long. */
  readonly validMs?: number;
}

/** A response or a file of a source is not longer. */
export const MAX_SOURCE_BYTES = 1_048_576;

/** Returns a peer with nothing but an address and what is given. */
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

/** The fault of a source that cannot be read. */
export function unreadable(message: string): MemberFault {
  return new MemberFault(502, MEMBER_CODES.unreadable, message);
}
