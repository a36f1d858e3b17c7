import { addressBytes, contains } from '../../config/index.ts';
import type { Network } from '../../config/index.ts';

/** One `allow` or `deny`. */
export interface AccessRule {
  readonly allows: boolean;
  readonly who: 'all' | 'unix' | Network;
}

/** Whether the first rule that fits lets an address in; without one that fits, everybody may (nginx). */
export function isAllowed(rules: readonly AccessRule[], address: string): boolean {
  // A client of a Unix socket has none.
  const bytes = addressBytes(address);
  const rule = rules.find(({ who }) => {
    if (who === 'all') return true;
    return who === 'unix' ? bytes === undefined : bytes !== undefined && contains(who, bytes);
  });
  return rule?.allows ?? true;
}
