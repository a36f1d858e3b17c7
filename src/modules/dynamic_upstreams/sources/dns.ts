import type { Member, MemberLookup } from '../../../upstream/index.ts';
import { plainMember, type Source, unreadable } from './source.ts';

/** `dynamic_upstreams_dns`: the addresses of a name, or the records of a service. A name that does not exist has none. */
export function dnsSource(lookUp: MemberLookup): Source {
  return {
    async ask() {
      try {
        const { addresses, againMs } = await lookUp();
        const members = addresses.map(({ address, weight, backup }): Member =>
          plainMember(address, {
            ...(weight !== undefined && { weight }),
            ...(backup !== undefined && { backup }),
          }),
        );
        return { members, ...(againMs !== undefined && { validMs: againMs }) };
      } catch (error) {
        throw unreadable((error as Error).message);
      }
    },
  };
}
