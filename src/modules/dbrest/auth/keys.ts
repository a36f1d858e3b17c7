import type { KeyObject } from 'node:crypto';
import { createPublicKey } from 'node:crypto';
import type { Jwk, KeySource } from './key-source.ts';

/** A key and the only algorithms that it may be used with. */
export interface Key {
  readonly kid: string | undefined;
  /** A set of keys answers for its key ids; a bare secret has none, and takes any. */
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

/** Every algorithm that some type of key goes with. */
export const ALGORITHMS: ReadonlySet<string> = new Set([...HMAC, ...RSA, ...Object.values(CURVES).flat()]);

/** Loads the keys. Throws when one of them is none. */
export function openKeys(source: KeySource): readonly Key[] {
  if (source.kind === 'keys') return source.keys.map(openKey);
  const key = new TextEncoder().encode(source.secret);
  return [{ kid: undefined, anyKid: true, algorithms: new Set(['HS256']), key }];
}

function openKey(jwk: Jwk): Key {
  const possible = algorithmsOf(jwk);
  const algorithms = jwk.alg === undefined ? possible : possible.filter((name) => name === jwk.alg);
  const what = `"dbrest_jwt_secret": the key ${jwk.kid === undefined ? '' : `"${jwk.kid}" `}of type "${jwk.kty}"`;
  if (algorithms.length === 0) throw new Error(`${what} goes with no algorithm that is known`);
  const common = { kid: jwk.kid, anyKid: false, algorithms: new Set(algorithms) };
  if (jwk.kty === 'oct') return { ...common, key: Buffer.from(jwk.k ?? '', 'base64url') };
  try {
    return { ...common, key: createPublicKey({ key: { ...jwk }, format: 'jwk' }) };
  } catch (cause) {
    throw new Error(`${what} cannot be loaded: ${(cause as Error).message}`, { cause });
  }
}

/** What a type of key goes with, the usual one first; fixed by the type: what a token says can only choose among them. */
export function algorithmsOf({ kty, crv = '' }: Pick<Jwk, 'kty' | 'crv'>): readonly string[] {
  if (kty === 'oct') return HMAC;
  if (kty === 'RSA') return RSA;
  return Object.hasOwn(CURVES, crv) ? (CURVES[crv] as readonly string[]) : [];
}
