import { LRUCache } from 'lru-cache';
import { badClaims, undecodableToken } from '../fault/index.ts';
import { isObject, parseLimited } from '../json.ts';
import type { CacheMetrics } from '../metrics.ts';
import { ALGORITHMS, type Key } from './keys.ts';

/** Tolerated clock skew. */
const SKEW_SECONDS = 30;

/** The payload of a verified token: its members and its JSON text. */
export interface Claims {
  readonly text: string;
  readonly members: Readonly<Record<string, unknown>>;
}

/** Checks times, then the audience. Throws a `DbrestFault`. */
export function checkClaims({ members }: Claims, nowMs: number, audience: string | undefined): void {
  const now = nowMs / 1_000;
  if (seconds(members, 'exp', Infinity) + SKEW_SECONDS < now) throw badClaims('JWT expired');
  if (seconds(members, 'nbf', -Infinity) - SKEW_SECONDS > now) throw badClaims('JWT not yet valid');
  if (seconds(members, 'iat', -Infinity) - SKEW_SECONDS > now) throw badClaims('JWT issued at future');
  checkAudience(members, audience);
}

/** Returns the payload as claims. Throws PGRST303 when it is not a JSON object. */
function claimsOf(json: { readonly text: string; readonly value: unknown } | undefined): Claims {
  if (!json || !isObject(json.value)) throw badClaims('Parsing claims failed');
  return { text: json.text, members: json.value };
}

function seconds(members: Claims['members'], name: string, absent: number): number {
  if (!Object.hasOwn(members, name)) return absent;
  const value = members[name];
  // 1e999 is valid JSON but parses to Infinity.
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw badClaims(`The JWT '${name}' claim must be a number`);
}

/** An absent, null or empty audience is accepted, as in PostgREST. */
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

/** The part of jose that is used. */
type Jose = Pick<typeof import('jose'), 'compactVerify'>;

const MOST_TOKENS = 1_000;

/**
 * Verifies the signature of tokens. Only the configured keys decide which algorithms are allowed; a token's own `jwk`,
 * `jku`, `x5c` and the like are ignored. Verified tokens are kept in an LRU cache; their times are checked on every use, by
 * the caller.
 */
export class TokenVerifier {
  readonly #jose: Jose;
  readonly #keys: readonly Key[];
  readonly #metrics: CacheMetrics;
  readonly #genuine: LRUCache<string, Claims>;

  constructor(jose: Jose, keys: readonly Key[], metrics: CacheMetrics) {
    this.#jose = jose;
    this.#metrics = metrics;
    this.#keys = keys;
    this.#genuine = new LRUCache({
      max: MOST_TOKENS,
      dispose: (_claims, _token, reason) => reason === 'evict' && metrics.evictions.add(),
    });
  }

  /** Returns the claims of a cached token at once. Throws or rejects with a `DbrestFault`. */
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

/** The algorithm and key id of the protected header. Throws PGRST301. */
function readHeader(token: string): { alg: string; kid: unknown } {
  if (token === '') throw undecodableToken('Empty JWT is sent in Authorization header');
  const parts = token.split('.');
  if (parts.length !== 3) throw undecodableToken(`Expected 3 parts in JWT; got ${parts.length}`);
  // Strict base64url: a different encoding of the same token would be a second cache key.
  const [head = ''] = parts.every((part) => /^[A-Za-z0-9_-]*$/.test(part)) ? parts : [];
  const header = parseLimited(Buffer.from(head, 'base64url'))?.value;
  if (!isObject(header)) throw undecodableToken('JWT cryptographic operation failed');
  if (Object.hasOwn(header, 'enc')) throw undecodableToken('Unsupported token type');
  const { alg, kid } = header;
  if (alg === 'none') throw refusedAlgorithm("JWT is unsecured but expected 'alg' was not 'none'");
  if (typeof alg !== 'string' || !ALGORITHMS.has(alg))
    throw refusedAlgorithm("Unsupported 'alg' in the JWT header");
  // RFC 7515, 4.1.11: a token with critical extensions that are not supported is invalid.
  if (Object.hasOwn(header, 'crit')) throw undecodableToken('JWT cryptographic operation failed');
  return { alg, kid };
}

function refusedAlgorithm(details: string): Error {
  return undecodableToken('Wrong or unsupported encoding algorithm', details);
}
