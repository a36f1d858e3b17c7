import { badClaims } from '../fault/index.ts';
import { isObject } from '../json.ts';

/** Clocks may differ by so much. */
const SKEW_SECONDS = 30;

/** The payload of a genuine token: its members, and the JSON text they came in. */
export interface Claims {
  readonly text: string;
  readonly members: Readonly<Record<string, unknown>>;
}

/** Times and audience, in the order of the contract ("Token (PGRST3xx)"). Throws a `DbrestFault`. */
export function checkClaims({ members }: Claims, nowMs: number, audience: string | undefined): void {
  const now = nowMs / 1_000;
  if (seconds(members, 'exp', Infinity) + SKEW_SECONDS < now) throw badClaims('JWT expired');
  if (seconds(members, 'nbf', -Infinity) - SKEW_SECONDS > now) throw badClaims('JWT not yet valid');
  if (seconds(members, 'iat', -Infinity) - SKEW_SECONDS > now) throw badClaims('JWT issued at future');
  checkAudience(members, audience);
}

/** The payload as claims. Throws PGRST303 when it is no JSON object. */
export function claimsOf(json: { readonly text: string; readonly value: unknown } | undefined): Claims {
  if (!json || !isObject(json.value)) throw badClaims('Parsing claims failed');
  return { text: json.text, members: json.value };
}

function seconds(members: Claims['members'], name: string, absent: number): number {
  if (!Object.hasOwn(members, name)) return absent;
  const value = members[name];
  // 1e999 is a number to JSON, and infinite here.
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw badClaims(`The JWT '${name}' claim must be a number`);
}

/** Absent, null and an empty array pass, as in PostgREST. */
function checkAudience(members: Claims['members'], audience: string | undefined): void {
  const aud = Object.hasOwn(members, 'aud') ? members['aud'] : null;
  if (aud === null) return;
  const given: unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!given.every((one) => typeof one === 'string')) {
    throw badClaims("The JWT 'aud' claim must be a string or an array of strings");
  }
  if (audience === undefined || given.length === 0 || given.includes(audience)) return;
  throw badClaims('JWT not in audience');
}
