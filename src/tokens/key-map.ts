import { createPublicKey } from 'node:crypto';
import { isObject, parseJson } from '../json.ts';
import { type KeySet, readKeySet } from './keys.ts';

/**
 * Reads an object with keys by their ids: public keys in PEM, and secrets. `fault` completes `the keys in "file" cannot
 * be used: `.
 */
export function readKeyMap(text: string): KeySet | { readonly fault: string } {
  const json = parseJson(text);
  if (!isObject(json)) return { fault: 'malformed JSON' };
  if (Array.isArray(json['keys'])) return { fault: 'it is a JWK set: add "jwks" behind its name' };
  const keys: unknown[] = [];
  for (const [kid, value] of Object.entries(json)) {
    if (typeof value !== 'string' || value === '') return { fault: `the key "${kid}" is not a text` };
    const key = value.includes('-----BEGIN') ? publicKey(value) : secretKey(value);
    if (!key) return { fault: `the key "${kid}" is not a public key` };
    keys.push({ ...key, kid, use: 'sig' });
  }
  return readKeySet(JSON.stringify({ keys }));
}

/** An object in the form of a key set that has one secret. */
export function secretKeys(secret: string): KeySet | { readonly fault: string } {
  return readKeySet(JSON.stringify({ keys: [{ ...secretKey(secret), use: 'sig' }] }));
}

function secretKey(secret: string): object {
  return { kty: 'oct', k: Buffer.from(secret).toString('base64url') };
}

function publicKey(pem: string): object | undefined {
  try {
    return createPublicKey(pem).export({ format: 'jwk' });
  } catch {
    return undefined;
  }
}
