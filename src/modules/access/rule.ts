import { addressBytes, contains, networkText } from '../../config/index.ts';
import type { Network } from '../../config/index.ts';

/** One `allow` or `deny`. */
export interface AccessRule {
  readonly allows: boolean;
  readonly who: 'all' | 'unix' | Network;
}

/** A rule as it may be written. */
export function ruleText({ allows, who }: AccessRule): string {
  return `${allows ? 'allow' : 'deny'} ${typeof who === 'string' ? (who === 'unix' ? 'unix:' : who) : networkText(who)}`;
}

/** The first rule that fits an address. */
export function ruleFor(rules: readonly AccessRule[], address: string): AccessRule | undefined {
  // A client of a Unix socket has none.
  const bytes = addressBytes(address);
  return rules.find(({ who }) => {
    if (who === 'all') return true;
    return who === 'unix' ? bytes === undefined : bytes !== undefined && contains(who, bytes);
  });
}
