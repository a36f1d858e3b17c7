import { createPublicKey, type KeyObject } from 'node:crypto';
import type { FlattenedJWS, JWK } from 'jose';

/** A JWK with its private members. */
export type SigningKey = JWK;

/** Signs claims (RFC 7515). Rejects if the key cannot be used with the algorithm that the header names. */
export async function signClaims(
  claims: Readonly<Record<string, unknown>>,
  key: SigningKey,
  header: { readonly alg: string } & Readonly<Record<string, string>>,
): Promise<string> {
  const { CompactSign, importJWK } = await import('jose');
  const payload = new TextEncoder().encode(JSON.stringify(claims));
  return new CompactSign(payload).setProtectedHeader(header).sign(await importJWK(key, header.alg));
}

/** A JSON Web Signature in its flattened form (RFC 7515, 7.2.2). */
export type SignedJson = Pick<FlattenedJWS, 'payload' | 'protected' | 'signature'>;

/** Signs a text with a private key, or with a secret key for HMAC. The header is protected. */
export async function signFlattened(
  payload: string,
  key: KeyObject,
  header: { readonly alg: string } & Readonly<Record<string, unknown>>,
): Promise<SignedJson> {
  const { FlattenedSign } = await import('jose');
  return new FlattenedSign(new TextEncoder().encode(payload)).setProtectedHeader(header).sign(key);
}

/** The members of a public key that identify it, and their digest (RFC 7638). The key may be given as its private one. */
export async function publicJwkOf(
  key: KeyObject,
): Promise<{ readonly jwk: JWK; readonly thumbprint: string }> {
  const { calculateJwkThumbprint, exportJWK } = await import('jose');
  const jwk = await exportJWK(key.type === 'private' ? createPublicKey(key) : key);
  return { jwk, thumbprint: await calculateJwkThumbprint(jwk) };
}
