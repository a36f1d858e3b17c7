import { createPublicKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { badClaims, undecodableToken } from '../fault/index.ts';
import { isObject, parseJson, parseLimited } from '../json.ts';
import type { CacheMetrics } from '../metrics.ts';

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
 * `jku`, `x5c` and the like are ignored. Verified tokens are kept in an LRU cache; their times are checked on every
 * use, by the caller.
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

/** A configured JSON Web Key (RFC 7517), reduced to the members that verification needs. */
interface Jwk {
  readonly kty: string;
  readonly alg?: string;
  readonly kid?: string;
  readonly k?: string;
  readonly n?: string;
  readonly e?: string;
  readonly crv?: string;
  readonly x?: string;
  readonly y?: string;
}

/** `dbrest_jwt_secret`: an HS256 secret, or keys. */
export type KeySource =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'keys'; readonly keys: readonly Jwk[] };

type JwkMember = Exclude<keyof Jwk, 'kty'>;

/** The public members of each key type; private members are dropped. */
const KEY_TYPES: ReadonlyMap<string, readonly JwkMember[]> = new Map<string, readonly JwkMember[]>([
  ['oct', ['k']],
  ['RSA', ['n', 'e']],
  ['EC', ['crv', 'x', 'y']],
  ['OKP', ['crv', 'x']],
]);

/** Minimum length of an HS256 secret (RFC 7518, 3.2). */
export const LEAST_SECRET_BYTES = 32;

/** Reads a secret, a JWK or a JWK set; `fault` completes the message `invalid value in "…" directive, `. */
export function readKeySource(text: string): KeySource | { readonly fault: string } {
  const trimmed = text.trim();
  // Used as an HMAC secret, a public key would let anyone who knows it sign tokens.
  if (trimmed.startsWith('-----BEGIN')) return { fault: 'a PEM key cannot be used, expected a JWK' };
  if (!trimmed.startsWith('{'))
    return text === '' ? { fault: 'empty secret' } : { kind: 'secret', secret: text };
  const json = parseJson(trimmed);
  if (!isObject(json)) return { fault: 'malformed JSON' };
  if (!Object.hasOwn(json, 'keys')) {
    const key = readKey(json);
    return key ? { kind: 'keys', keys: [key] } : { fault: 'no key that can verify a signature' };
  }
  // Keys that are not understood are ignored in a set (RFC 7517, 5).
  const { keys: given } = json;
  const keys = Array.isArray(given) ? given.flatMap((key: unknown) => readKey(key) ?? []) : [];
  return keys.length > 0 ? { kind: 'keys', keys } : { fault: 'no key that can verify a signature' };
}

/** The length of the shortest HMAC secret; `Infinity` without one. */
export function shortestSecretBytes(source: KeySource): number {
  if (source.kind === 'secret') return Buffer.byteLength(source.secret);
  return Math.min(
    ...source.keys.map(({ k }) => (k === undefined ? Infinity : Buffer.from(k, 'base64url').length)),
  );
}

function readKey(value: unknown): Jwk | undefined {
  if (!isObject(value)) return undefined;
  const { kty, use, key_ops: operations } = value;
  const needed = typeof kty === 'string' ? KEY_TYPES.get(kty) : undefined;
  if (typeof kty !== 'string' || !needed || (use !== undefined && use !== 'sig')) return undefined;
  if (Array.isArray(operations) && !operations.some((name) => name === 'verify' || name === 'sign'))
    return undefined;
  if (!needed.every((name) => typeof value[name] === 'string' && value[name] !== '')) return undefined;
  const kept: { -readonly [Member in JwkMember]?: string } = {};
  for (const name of ['alg', 'kid', ...needed] as const) {
    const member = value[name];
    if (typeof member === 'string') kept[name] = member;
  }
  return { kty, ...kept };
}

/** A verification key and the algorithms that it may be used with. */
export interface Key {
  readonly kid: string | undefined;
  /** True for a bare secret, which accepts tokens with any key id. */
  readonly anyKid: boolean;
  readonly algorithms: ReadonlySet<string>;
  readonly key: KeyObject | Uint8Array;
}

const HMAC = ['HS256', 'HS384', 'HS512'];
const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const CURVES: Readonly<Record<string, readonly string[]>> = {
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA', 'Ed25519'],
};

/** All supported algorithms. */
const ALGORITHMS: ReadonlySet<string> = new Set([...HMAC, ...RSA, ...Object.values(CURVES).flat()]);

/** Loads the keys. Throws when a key cannot be used. */
export function openKeys(source: KeySource): readonly Key[] {
  if (source.kind === 'keys') return source.keys.map(openKey);
  const key = new TextEncoder().encode(source.secret);
  return [{ kid: undefined, anyKid: true, algorithms: new Set(['HS256']), key }];
}

function openKey(jwk: Jwk): Key {
  const possible = algorithmsOf(jwk);
  const algorithms = jwk.alg === undefined ? possible : possible.filter((name) => name === jwk.alg);
  const what = `"dbrest_jwt_secret": the key ${jwk.kid === undefined ? '' : `"${jwk.kid}" `}of type "${jwk.kty}"`;
  if (algorithms.length === 0) throw new Error(`${what} fits no supported algorithm`);
  const common = { kid: jwk.kid, anyKid: false, algorithms: new Set(algorithms) };
  if (jwk.kty === 'oct') return { ...common, key: Buffer.from(jwk.k ?? '', 'base64url') };
  try {
    return { ...common, key: createPublicKey({ key: { ...jwk }, format: 'jwk' }) };
  } catch (cause) {
    throw new Error(`${what} cannot be loaded: ${(cause as Error).message}`, { cause });
  }
}

/** The algorithms of a key type, the default first. The header of a token can only select one of them. */
export function algorithmsOf({ kty, crv = '' }: Pick<Jwk, 'kty' | 'crv'>): readonly string[] {
  if (kty === 'oct') return HMAC;
  if (kty === 'RSA') return RSA;
  return Object.hasOwn(CURVES, crv) ? (CURVES[crv] as readonly string[]) : [];
}
