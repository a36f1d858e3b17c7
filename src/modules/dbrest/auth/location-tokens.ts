import {
  type ClaimRules,
  claimsFault,
  isRefusal,
  type KeySet,
  type KeySource,
  openKeys,
  type TokenRefusal,
  TokenVerifier,
  type VerifiedToken,
} from '../../../tokens/index.ts';
import type { KeysOrFault } from '../../../issuer/index.ts';
import { badClaims, type DbrestFault, noKeys, undecodableToken } from '../fault/index.ts';
import type { CacheMetrics } from '../metrics.ts';

/** What verifies tokens: keys, or the URL of a JWK set. */
export type TokenKeys = KeySource | { readonly kind: 'url'; readonly url: string };

/** Tolerated clock skew. */
const SKEW_SECONDS = 30;
const MOST_TOKENS = 1_000;
const MOST_BYTES = 8_192;

/** Opens the keys of `dbrest_jwt_secret`. Throws when one of them cannot be used. */
export function openSecret(source: KeySource): KeySet {
  try {
    return openKeys(source);
  } catch (cause) {
    throw new Error(`"dbrest_jwt_secret": ${(cause as Error).message}`, { cause });
  }
}

/** The tokens that a location accepts. An absent, null or empty audience is accepted, as in PostgREST. */
export class LocationTokens {
  readonly #verifier: TokenVerifier;
  readonly #keysOf: () => KeysOrFault;
  readonly #rules: ClaimRules;

  constructor(
    keysOf: () => KeysOrFault,
    { audience, metrics }: { readonly audience: string | undefined; readonly metrics?: CacheMetrics },
  ) {
    this.#keysOf = keysOf;
    this.#verifier = new TokenVerifier({
      mostTokens: MOST_TOKENS,
      mostBytes: MOST_BYTES,
      ...(metrics && { metrics }),
    });
    this.#rules = {
      leewaySeconds: SKEW_SECONDS,
      checksIssue: true,
      audiences: audience === undefined ? undefined : [audience],
      needsAudience: false,
    };
  }

  /** Tells whether a token names a key that is not known. */
  lacksKey(text: string): boolean {
    const keys = this.#keysOf();
    const token = 'fault' in keys ? keys : this.#verifier.verify(text, keys);
    return 'refused' in token && token.refused === 'key' && token.subject !== undefined;
  }

  /** Returns the token if it is accepted. Throws PGRST300, PGRST301 or PGRST303. */
  accept(text: string, nowMs: number): VerifiedToken {
    const keys = this.#keysOf();
    if ('fault' in keys) throw noKeys(keys.fault);
    const token = this.#verifier.verify(text, keys);
    if (isRefusal(token)) throw faultOf(token);
    const refusal = claimsFault(token.claims, this.#rules, nowMs);
    if (!refusal) return token;
    this.#verifier.forget(text, keys);
    throw faultOf(refusal);
  }
}

/** The fault of a refused token, in the words of PostgREST. */
function faultOf({ refused, subject = '' }: TokenRefusal): DbrestFault {
  return FAULTS[refused](subject);
}

const undecodable = (message: string, details?: string) => (): DbrestFault =>
  undecodableToken(message, details);
const unfit = (message: string) => (): DbrestFault => badClaims(message);

const FAULTS: Readonly<Record<TokenRefusal['refused'], (subject: string) => DbrestFault>> = {
  empty: undecodable('Empty JWT is sent in Authorization header'),
  parts: (count) => undecodableToken(`Expected 3 parts in JWT; got ${count}`),
  malformed: undecodable('JWT cryptographic operation failed'),
  critical: undecodable('JWT cryptographic operation failed'),
  encrypted: undecodable('Unsupported token type'),
  unsecured: undecodable(
    'Wrong or unsupported encoding algorithm',
    "JWT is unsecured but expected 'alg' was not 'none'",
  ),
  algorithm: undecodable('Wrong or unsupported encoding algorithm', "Unsupported 'alg' in the JWT header"),
  'key id': undecodable('No suitable key or wrong key type', 'The JWT names none of several keys'),
  size: undecodable('JWT cryptographic operation failed'),
  key: undecodable('No suitable key or wrong key type', 'None of the keys was able to decode the JWT'),
  claims: unfit('Parsing claims failed'),
  number: (claim) => badClaims(`The JWT '${claim}' claim must be a number`),
  expired: unfit('JWT expired'),
  'not yet valid': unfit('JWT not yet valid'),
  'from the future': unfit('JWT issued at future'),
  'audience type': unfit("The JWT 'aud' claim must be a string or an array of strings"),
  audience: unfit('JWT not in audience'),
};
