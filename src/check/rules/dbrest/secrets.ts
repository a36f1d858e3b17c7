import type { KeySource } from './settings.ts';

/** RFC 7518, 3.2: a key of the size of the hash or larger. */
export const LEAST_SECRET_BYTES = 32;

/** The secrets of a `dbrest_jwt_secret` that sign with HMAC. */
export function hmacSecrets(keys: KeySource): readonly Buffer[] {
  if (keys.kind === 'secret') return [Buffer.from(keys.secret)];
  return keys.keys.flatMap(({ k }) => (k === undefined ? [] : [Buffer.from(k, 'base64url')]));
}

/** From tutorials and templates: everybody who attacks tries them first. */
const EXAMPLES: ReadonlySet<string> = new Set([
  // jwt.io
  'your-256-bit-secret',
  'your-384-bit-secret',
  'your-512-bit-secret',
  'a-string-secret-at-least-256-bits-long',
  'a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long',
  // PostgREST's tutorial and its tests
  'reallyreallyreallyreallyverysafe',
  'safe-secret-that-is-at-least-32-characters-long',
  // Supabase's command line and its files for Docker
  'super-secret-jwt-token-with-at-least-32-characters-long',
  'your-super-secret-jwt-token-with-at-least-32-characters-long',
  'secret',
  'jwt-secret',
  'jwtsecret',
  'mysecret',
  'supersecret',
  'changeme',
  'password',
  'test',
]);

/** What people write where a secret has yet to come. */
const PLACEHOLDER =
  /change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|this|it|with)|your[-_ ].*(?:secret|key|token)|at[-_ ]least[-_ ]\d+|placeholder/i;

/** A text that somebody wrote for others to see, or that repeats itself. */
export function isExampleSecret(secret: Buffer): boolean {
  const text = secret.toString();
  return EXAMPLES.has(text.toLowerCase()) || PLACEHOLDER.test(text) || /^(.{1,16}?)\1+$/s.test(text);
}
