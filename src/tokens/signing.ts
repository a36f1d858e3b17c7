import type { JWK } from 'jose';

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
