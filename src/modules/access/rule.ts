import { addressBytes, contains, networkText } from '../../config/index.ts';
import type { Network } from '../../config/index.ts';

/** One `allow` or `deny`. */
export interface AccessRule {
  readonly allows: boolean;
  readonly who: 'all' | 'unix' | Network;
}

/** A rule as it may be written. */
export function ruleText({ allows, who }: AccessRule): string {
  return `${allows ? 'allow' : 'deny'} ${whoText(who)}`;
}

function whoText(who: AccessRule['who']): string {
  if (who === 'all') return who;
  if (who === 'unix') return 'unix:';
  const isOne = who.bits === 8 * who.bytes.length;
  return isOne ? networkText(who).replace(/\/\d+$/, '') : networkText(who);
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

/** What the rules say to an address that only the rules for everybody fit; the better luck of IPv4 and IPv6 counts. */
export function verdictOnStrangers(rules: readonly AccessRule[]): 'allowed' | 'denied' | undefined {
  const [ipv4, ipv6] = [IPV4_BYTES, IPV6_BYTES].map((length) => {
    const rule = rules.find(({ who }) => who === 'all' || isEverybody(who, length));
    return rule && (rule.allows ? 'allowed' : 'denied');
  });
  return ipv4 === 'denied' ? ipv6 : (ipv4 ?? (ipv6 === 'allowed' ? ipv6 : undefined));
}

const IPV4_BYTES = 4;
const IPV6_BYTES = 16;

function isEverybody(who: AccessRule['who'], length: number): boolean {
  return typeof who === 'object' && who.bits === 0 && who.bytes.length === length;
}
