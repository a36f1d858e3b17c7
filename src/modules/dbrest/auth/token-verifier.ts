import { LRUCache } from 'lru-cache';
import { badClaims, undecodableToken } from '../fault/index.ts';
import { isObject, parseLimited } from '../json.ts';
import type { TokenMetrics } from '../metrics.ts';
import { ALGORITHMS, type Key } from './keys.ts';

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
function claimsOf(json: { readonly text: string; readonly value: unknown } | undefined): Claims {
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

/** What is used of the loaded library. */
type Jose = Pick<typeof import('jose'), 'compactVerify'>;

const MOST_TOKENS = 1_000;

/**
 * Finds out whether some configured key vouches for a token. Only the key decides what algorithms it may be used with;
 * the token's own `jwk`, `jku`, `x5c` … are never looked at. Genuine tokens are remembered whole, the least recently
 * used going first; whether their times hold is asked at each use, elsewhere.
 */
export class TokenVerifier {
  readonly #jose: Jose;
  readonly #keys: readonly Key[];
  readonly #metrics: TokenMetrics;
  readonly #genuine: LRUCache<string, Claims>;

  constructor(jose: Jose, keys: readonly Key[], metrics: TokenMetrics) {
    this.#jose = jose;
    this.#metrics = metrics;
    this.#keys = keys;
    this.#genuine = new LRUCache({
      max: MOST_TOKENS,
      dispose: (_claims, _token, reason) => reason === 'evict' && metrics.evictions.add(),
    });
  }

  /** At once for a token that was verified before. Throws or rejects with a `DbrestFault`. */
  verify(token: string): Claims | Promise<Claims> {
    this.#metrics.requests.add();
    const known = this.#genuine.get(token);
    if (!known) return this.#verifyNew(token);
    this.#metrics.hits.add();
    return known;
  }

  forget(token: string): void {
    this.#genuine.delete(token);
  }

  async #verifyNew(token: string): Promise<Claims> {
    const candidates = this.#candidates(readHeader(token));
    for (const { key, algorithms } of candidates) {
      const payload = await this.#jose.compactVerify(token, key, { algorithms: [...algorithms] }).then(
        (verified) => verified.payload,
        () => undefined,
      );
      if (!payload) continue;
      const claims = claimsOf(parseLimited(payload));
      this.#genuine.set(token, claims);
      return claims;
    }
    throw undecodableToken(
      'No suitable key or wrong key type',
      'None of the keys was able to decode the JWT',
    );
  }

  #candidates({ alg, kid }: { alg: string; kid: unknown }): readonly Key[] {
    return this.#keys.filter((key) => {
      return key.algorithms.has(alg) && (kid === undefined || key.anyKid || key.kid === kid);
    });
  }
}

/** The protected header, as far as it counts. Throws PGRST301. */
function readHeader(token: string): { alg: string; kid: unknown } {
  if (token === '') throw undecodableToken('Empty JWT is sent in Authorization header');
  const parts = token.split('.');
  if (parts.length !== 3) throw undecodableToken(`Expected 3 parts in JWT; got ${parts.length}`);
  // Strictly base64url: another spelling of a token would be another key of the cache.
  const [head = ''] = parts.every((part) => /^[A-Za-z0-9_-]*$/.test(part)) ? parts : [];
  const header = parseLimited(Buffer.from(head, 'base64url'))?.value;
  if (!isObject(header)) throw undecodableToken('JWT cryptographic operation failed');
  if (Object.hasOwn(header, 'enc')) throw undecodableToken('Unsupported token type');
  const { alg, kid } = header;
  if (alg === 'none') throw refusedAlgorithm("JWT is unsecured but expected 'alg' was not 'none'");
  if (typeof alg !== 'string' || !ALGORITHMS.has(alg))
    throw refusedAlgorithm("Unsupported 'alg' in the JWT header");
  // Extensions that must be understood, and are not.
  if (Object.hasOwn(header, 'crit')) throw undecodableToken('JWT cryptographic operation failed');
  return { alg, kid };
}

function refusedAlgorithm(details: string): Error {
  return undecodableToken('Wrong or unsupported encoding algorithm', details);
}
