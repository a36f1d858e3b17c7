import type { TokenObject } from './json.ts';
import type { TokenRefusal } from './refusal.ts';

/** What the claims of a token must say. */
export interface ClaimRules {
  /** Tolerated clock skew. */
  readonly leewaySeconds: number;
  /** True: a token must not have been issued in the future (`iat`). */
  readonly checksIssue: boolean;
  /** The audiences one of which a token must name; absent: any. */
  readonly audiences?: readonly string[] | undefined;
  /** True: a token must name an audience. */
  readonly needsAudience: boolean;
}

/** Checks times, then the audience (RFC 7519, 4.1). Returns what is wrong; `undefined` if nothing is. */
export function claimsFault(claims: TokenObject, rules: ClaimRules, nowMs: number): TokenRefusal | undefined {
  return timesFault(claims, rules, nowMs / 1_000) ?? audienceFault(claims, rules);
}

function timesFault(
  { members }: TokenObject,
  { leewaySeconds, checksIssue }: ClaimRules,
  now: number,
): TokenRefusal | undefined {
  const exp = secondsOf(members, 'exp') ?? Infinity;
  if (typeof exp === 'object') return exp;
  if (exp + leewaySeconds <= now) return { refused: 'expired' };
  const nbf = secondsOf(members, 'nbf') ?? -Infinity;
  if (typeof nbf === 'object') return nbf;
  if (nbf - leewaySeconds > now) return { refused: 'not yet valid' };
  if (!checksIssue) return undefined;
  const iat = secondsOf(members, 'iat') ?? -Infinity;
  if (typeof iat === 'object') return iat;
  return iat - leewaySeconds > now ? { refused: 'from the future' } : undefined;
}

/** A claim that holds seconds since the epoch: a finite number, or a refusal; `undefined` if it is absent. */
function secondsOf(members: TokenObject['members'], name: string): number | TokenRefusal | undefined {
  if (!Object.hasOwn(members, name)) return undefined;
  const value = members[name];
  // 1e999 is valid JSON but parses to Infinity.
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  return { refused: 'number', subject: name };
}

function audienceFault(
  { members }: TokenObject,
  { audiences, needsAudience }: ClaimRules,
): TokenRefusal | undefined {
  const aud = Object.hasOwn(members, 'aud') ? members['aud'] : null;
  const given: unknown[] = aud === null ? [] : Array.isArray(aud) ? aud : [aud];
  if (!given.every((one) => typeof one === 'string')) return { refused: 'audience type' };
  if (audiences === undefined || (given.length === 0 && !needsAudience)) return undefined;
  return audiences.some((audience) => given.includes(audience)) ? undefined : { refused: 'audience' };
}
