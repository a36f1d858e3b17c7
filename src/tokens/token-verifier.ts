import { LRUCache } from 'lru-cache';
import { readObject, type TokenObject } from './json.ts';
import { ALGORITHMS, type Key, type KeySet } from './keys.ts';
import { isRefusal, type TokenRefusal } from './refusal.ts';
import { isSigned } from './signature.ts';

/** A token whose signature is that of a key. */
export interface VerifiedToken {
  /** As it was sent. */
  readonly text: string;
  readonly header: TokenObject;
  readonly claims: TokenObject;
}

/** The counters of a cache. */
interface CacheCounters {
  readonly requests: { add(): void };
  readonly hits: { add(): void };
  readonly evictions: { add(): void };
}

/** The bounds and counters of a verifier. */
interface VerifierOptions {
  /** Tokens that are kept. */
  readonly mostTokens: number;
  /** Largest header and largest payload, decoded. */
  readonly mostBytes: number;
  readonly metrics?: CacheCounters;
}

/** A verified token, and the id of the set with the key that verified it. */
interface GenuineToken {
  readonly keys: string;
  readonly token: VerifiedToken;
}

/** Keys that are tried for a token that names none. */
const MOST_CANDIDATES = 8;

/**
 * Verifies the signature of tokens (RFC 7515). Only the keys decide which algorithms are allowed; a token's own `jwk`,
 * `jku`, `x5c` and the like are ignored. Verified tokens are kept in an LRU cache, under the whole token, each
 * with the keys that verified it last; their claims are checked on every use, by the caller.
 */
export class TokenVerifier {
  readonly #metrics: CacheCounters | undefined;
  readonly #mostBytes: number;
  readonly #genuine: LRUCache<string, GenuineToken>;

  constructor({ mostTokens, mostBytes, metrics }: VerifierOptions) {
    this.#metrics = metrics;
    this.#mostBytes = mostBytes;
    this.#genuine = new LRUCache({
      max: mostTokens,
      ...(metrics && { dispose: (_token, _key, reason) => reason === 'evict' && metrics.evictions.add() }),
    });
  }

  verify(token: string, keys: KeySet): VerifiedToken | TokenRefusal {
    this.#metrics?.requests.add();
    const known = this.#genuine.get(token);
    if (known?.keys !== keys.id) return this.#verifyNew(token, keys);
    this.#metrics?.hits.add();
    return known.token;
  }

  /** A token that some keys have verified. */
  known(token: string): VerifiedToken | undefined {
    return this.#genuine.peek(token)?.token;
  }

  /** Removes a token whose time is over. */
  forget(token: string, keys: KeySet): void {
    if (this.#genuine.peek(token)?.keys === keys.id) this.#genuine.delete(token);
  }

  #verifyNew(text: string, set: KeySet): VerifiedToken | TokenRefusal {
    const header = this.#header(text);
    if (isRefusal(header)) return header;
    const { alg, kid } = header.members;
    const algorithm = alg as string;
    if (set.needsKid && kid === undefined && set.keys.length > 1) return { refused: 'key id' };
    const candidates = candidatesFor(header.members, set);
    if (candidates.length === 0 && typeof kid === 'string' && !set.keys.some((key) => key.kid === kid))
      return { refused: 'key', subject: kid };
    if (!candidates.some((key) => isSigned(text, key, algorithm))) return { refused: 'key' };
    const claims = this.#object(text.slice(text.indexOf('.') + 1, text.lastIndexOf('.')));
    if (!claims) return { refused: 'claims' };
    const token = { text, header, claims };
    this.#genuine.set(text, { keys: set.id, token });
    return token;
  }

  /** The protected header of a token that may be verified. */
  #header(token: string): TokenObject | TokenRefusal {
    if (token === '') return { refused: 'empty' };
    const parts = token.split('.');
    if (parts.length !== 3) return { refused: 'parts', subject: String(parts.length) };
    const header = parts.every(isEncoded) ? this.#object(parts[0] as string) : undefined;
    if (!header) return { refused: 'malformed' };
    const { members } = header;
    if (Object.hasOwn(members, 'enc')) return { refused: 'encrypted' };
    const { alg } = members;
    if (alg === 'none') return { refused: 'unsecured' };
    if (typeof alg !== 'string' || !ALGORITHMS.has(alg)) return { refused: 'algorithm' };
    // RFC 7515, 4.1.11: a token with critical extensions that are not supported is invalid; `b64` (RFC 7797) is one.
    if (Object.hasOwn(members, 'crit') || Object.hasOwn(members, 'b64')) return { refused: 'critical' };
    return header;
  }

  #object(encoded: string): TokenObject | undefined {
    const bytes = Buffer.from(encoded, 'base64url');
    return bytes.length > this.#mostBytes ? undefined : readObject(bytes);
  }
}

/** Strict base64url, which Node.js does not demand: no other characters, no length that no bytes have. */
function isEncoded(part: string): boolean {
  return part.length % 4 !== 1 && /^[A-Za-z0-9_-]*$/.test(part);
}

/** The keys that may have signed a token: a key id selects, and without one all that fit are tried. */
function candidatesFor({ alg, kid }: TokenObject['members'], { keys }: KeySet): readonly Key[] {
  const fitting = keys.filter((key) => {
    const isNamed = kid === undefined || key.anyKid || key.kid === kid;
    return isNamed && !key.isWeak && key.algorithms.has(alg as string);
  });
  return fitting.slice(0, MOST_CANDIDATES);
}
