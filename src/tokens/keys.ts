import { createHash, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { isObject, parseJson } from '../json.ts';

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

/** An HS256 secret, or keys. */
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
  return readJwks(trimmed);
}

/** Reads the JSON of a JWK or a JWK set. Keys that are not understood are ignored in a set (RFC 7517, 5). */
function readJwks(
  text: string,
): { readonly kind: 'keys'; readonly keys: readonly Jwk[] } | { readonly fault: string } {
  const given = keysIn(text);
  if ('fault' in given) return given;
  const keys = given.keys.flatMap((key) => readKey(key) ?? []);
  return keys.length > 0 ? { kind: 'keys', keys } : { fault: NO_KEY };
}

function keysIn(text: string): { readonly keys: readonly unknown[] } | { readonly fault: string } {
  if (text.trimStart().startsWith('-----BEGIN')) return { fault: 'it is PEM, expected a JWK set' };
  const json = parseJson(text);
  if (!isObject(json)) return { fault: 'malformed JSON' };
  const given: unknown = Object.hasOwn(json, 'keys') ? json['keys'] : [json];
  return Array.isArray(given) ? { keys: given } : { fault: NO_KEY };
}

const NO_KEY = 'no key that can verify a signature';

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
  /** True for a key that verifies nothing: an RSA key that is too short (RFC 7518, 3.3), or an empty secret. */
  readonly isWeak: boolean;
  readonly key: KeyObject;
}

/** A key that opens encrypted tokens, as it was configured: it may have private members. */
export interface DecryptionKey {
  readonly kty: 'RSA' | 'oct';
  readonly kid: string | undefined;
  readonly alg: string | undefined;
  readonly jwk: Readonly<Record<string, unknown>>;
}

/** Keys that verify tokens together. */
export interface KeySet {
  /** Identifies the keys by their values: sets of the same keys have the same id. */
  readonly id: string;
  readonly keys: readonly Key[];
  /** Those that open encrypted tokens. */
  readonly decryption: readonly DecryptionKey[];
  /** True: where there are several keys, a token must name its own. */
  readonly needsKid?: true;
}

/** What a location demands of the keys that it is given. */
interface KeyDemands {
  /** The algorithms that tokens may use; absent: all that the keys may be used with. */
  readonly algorithms?: readonly string[] | undefined;
  readonly needsKid: boolean;
}

/** Joins sets of keys to one. */
export function joinKeys(sets: readonly KeySet[], { algorithms, needsKid }: KeyDemands): KeySet {
  const [only] = sets;
  if (only && sets.length === 1 && !algorithms && !needsKid) return only;
  const demands = [needsKid ? 'kid' : '', ...(algorithms ?? [])].join(' ');
  const keys = sets.flatMap((set) => set.keys).map((key) => (algorithms ? allowing(key, algorithms) : key));
  const id = [...sets.map((set) => set.id), demands].join(' ');
  const decryption = sets.flatMap((set) => set.decryption);
  return { id, keys, decryption, ...(needsKid && { needsKid: true }) };
}

function allowing(key: Key, algorithms: readonly string[]): Key {
  return { ...key, algorithms: new Set(algorithms.filter((name) => key.algorithms.has(name))) };
}

/** Minimum length of an RSA key (RFC 7518, 3.3). */
const LEAST_RSA_BITS = 2_048;

const HMAC = ['HS256', 'HS384', 'HS512'];
const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const CURVES: Readonly<Record<string, readonly string[]>> = {
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: ['EdDSA', 'Ed25519'],
  Ed448: ['EdDSA', 'Ed448'],
};

/** All supported algorithms. */
export const ALGORITHMS: ReadonlySet<string> = new Set([...HMAC, ...RSA, ...Object.values(CURVES).flat()]);

/** Loads keys. Throws when one of them cannot be used; the message begins with "the key". */
export function openKeys(source: KeySource): KeySet {
  const id = createHash('sha256').update(JSON.stringify(source)).digest('base64url');
  if (source.kind === 'keys') return { id, keys: source.keys.map(openKey), decryption: [] };
  const key = createSecretKey(source.secret, 'utf8');
  const algorithms = new Set(['HS256']);
  return { id, keys: [{ kid: undefined, anyKid: true, algorithms, isWeak: false, key }], decryption: [] };
}

/**
 * Loads the keys of a file, in which other keys may stand that gw cannot use: they are ignored. `fault` says why there
 * is none, and completes `the keys in "file" cannot be used: `.
 */
export function readKeySet(text: string): KeySet | { readonly fault: string } {
  const given = keysIn(text);
  if ('fault' in given) return given;
  const source = given.keys.flatMap((key: unknown) => readKey(key) ?? []);
  const keys = source.flatMap((key) => usableKey(key) ?? []);
  const decryption = given.keys.flatMap((key: unknown) => decryptionKey(key) ?? []);
  // An issuer that has taken all of its keys back has said so; keys of which none is understood are a mistake.
  if (given.keys.length > 0 && keys.length === 0 && decryption.length === 0) return { fault: NO_KEY };
  const id = createHash('sha256')
    .update(JSON.stringify([source, decryption]))
    .digest('base64url');
  return { id, keys, decryption };
}

function decryptionKey(value: unknown): DecryptionKey | undefined {
  if (!isObject(value)) return undefined;
  const { kty, use, kid, alg } = value;
  const opens = kty === 'oct' || (kty === 'RSA' && typeof value['d'] === 'string');
  if (!opens || (use !== undefined && use !== 'enc')) return undefined;
  return { kty, kid: textOf(kid), alg: textOf(alg), jwk: value };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function usableKey(jwk: Jwk): Key | undefined {
  try {
    const key = openKey(jwk);
    return key.isWeak ? undefined : key;
  } catch {
    return undefined;
  }
}

function openKey(jwk: Jwk): Key {
  const possible = algorithmsOf(jwk);
  const algorithms = jwk.alg === undefined ? possible : possible.filter((name) => name === jwk.alg);
  const what = `the key ${jwk.kid === undefined ? '' : `"${jwk.kid}" `}of type "${jwk.kty}"`;
  if (algorithms.length === 0) throw new Error(`${what} fits no supported algorithm`);
  const common = { kid: jwk.kid, anyKid: false, algorithms: new Set(algorithms) };
  if (jwk.kty === 'oct') {
    const key = createSecretKey(jwk.k ?? '', 'base64url');
    return { ...common, isWeak: key.symmetricKeySize === 0, key };
  }
  try {
    const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
    return { ...common, isWeak: (key.asymmetricKeyDetails?.modulusLength ?? Infinity) < LEAST_RSA_BITS, key };
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
