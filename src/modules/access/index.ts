import { addressBytes, contains, networkText } from '../../config/index.ts';
import { type Build, type ExplainedAction, moduleFor } from '../../contract/index.ts';
import { type AccessCheck, type Denial, logContext } from '../../http/index.ts';
import { type AccessConfig, type AccessRule, directives } from './directives.ts';

/** Returns the text of a rule for messages. */
function ruleText({ allows, who }: AccessRule): string {
  return `${allows ? 'allow' : 'deny'} ${whoText(who)}`;
}

function whoText(who: AccessRule['who']): string {
  if (who === 'all') return who;
  if (who === 'unix') return 'unix:';
  const isOne = who.bits === 8 * who.bytes.length;
  return isOne ? networkText(who).replace(/\/\d+$/, '') : networkText(who);
}

/** Returns the first rule that matches an address. */
function ruleFor(rules: readonly AccessRule[], address: string): AccessRule | undefined {
  // A client of a Unix socket has no address.
  const bytes = addressBytes(address);
  return rules.find(({ who }) => {
    if (who === 'all') return true;
    return who === 'unix' ? bytes === undefined : bytes !== undefined && contains(who, bytes);
  });
}

/** Returns the verdict on addresses that only rules for all addresses match: the more permissive of IPv4 and IPv6. */
function verdictOnStrangers(rules: readonly AccessRule[]): 'allowed' | 'denied' | undefined {
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

/** Access by the client's address (nginx ngx_http_access_module). As in nginx, `return` comes before access checks. */
export const access = moduleFor<AccessConfig>()({
  name: 'access',
  summary: 'Access by the address of the client.',
  directives,
  enabled: ({ rules }) => rules !== undefined,
  strangers: ({ rules = [] }) => verdictOnStrangers(rules),
  compile: ({ rules = [] }, _resources, build) => ({ access: compileAccess(rules, build) }),
  explanation: {
    runs: true,
    explain: ({ rules = [] }) => ({ access: ({ remoteAddress }) => tellRules(rules, remoteAddress) }),
  },
  rules: () => import('./rules.ts'),
});

const FORBIDDEN: Denial = { status: 403 };

function compileAccess(rules: readonly AccessRule[], build: Build): AccessCheck {
  build.needPeer();
  // With `satisfy any`, other checks may still allow the request; then the phase logs the refusal.
  const isLast = build.core.satisfy === 'all';
  return (x) => {
    const rule = ruleFor(rules, x.remoteAddress);
    if (!rule) return undefined;
    if (rule.allows) return 'allowed';
    if (isLast) build.log.write('error', 'access forbidden by rule', logContext(x));
    return FORBIDDEN;
  };
}

/** Explains the rules up to the one that decides. */
function tellRules(rules: readonly AccessRule[], address: string): ExplainedAction {
  const found = ruleFor(rules, address);
  const client = address === 'unix:' ? 'a client of a Unix socket' : address;
  const asked = found ? rules.slice(0, rules.indexOf(found)) : rules;
  return {
    does: found ? `"${ruleText(found)}" fits ${client}` : `no rule fits ${client}`,
    ...(found && { nth: rules.indexOf(found) }),
    facts: asked.map((rule) => ({ label: 'does not fit', value: ruleText(rule) })),
  };
}
