import { createHash, timingSafeEqual } from 'node:crypto';

/** What takes long, and is not computed in the thread that serves requests. */
export interface PasswordLibraries {
  readonly bcrypt: (password: Uint8Array, stored: string) => Promise<boolean>;
  /** The other forms of crypt(3); `undefined`: the stored one is none of them. */
  readonly crypt: (password: Buffer, stored: string) => Promise<string | undefined>;
}

const BCRYPT = /^\$2[aby]\$/;
const SHA1_BYTES = 20;
/** As PAM has it. The time that SHA-crypt takes grows with the length of what somebody guesses. */
export const MOST_PASSWORD_BYTES = 512;

/** Whether a check of this stored form takes so long that a success should be remembered. */
export function isSlow(stored: string): boolean {
  return !stored.startsWith('{');
}

/**
 * Whether a password is the one that a line of a user file stores, one byte per character: `{PLAIN}`, `{SHA}`, `{SSHA}`,
 * `$apr1$`, `$1$`, `$5$`, `$6$`, `$2a$`, `$2b$`, `$2y$`, or the 13 characters of crypt(3). `undefined`: it is none of these.
 */
export function verifyPassword(
  password: Buffer,
  stored: string,
  libraries: PasswordLibraries,
): boolean | undefined | Promise<boolean | undefined> {
  // No password that htpasswd takes has one, and those who measure in C would stop there.
  if (password.includes(0)) return false;
  if (password.length > MOST_PASSWORD_BYTES) return false;
  if (BCRYPT.test(stored)) return libraries.bcrypt(password, stored);
  const judge = (computed: string | undefined): boolean | undefined =>
    computed === undefined ? undefined : isSame(computed, stored);
  return isSlow(stored) ? libraries.crypt(password, stored).then(judge) : judge(compute(password, stored));
}

/** What is computed at once. */
function compute(password: Buffer, stored: string): string | undefined {
  if (stored.startsWith('{PLAIN}')) return `{PLAIN}${password.toString('latin1')}`;
  if (stored.startsWith('{SHA}')) return `{SHA}${sha1(password).toString('base64')}`;
  return stored.startsWith('{SSHA}') ? ssha(password, stored) : undefined;
}

/** The salt stands behind the digest. */
function ssha(password: Buffer, stored: string): string {
  const salt = Buffer.from(stored.slice('{SSHA}'.length), 'base64').subarray(SHA1_BYTES);
  return `{SSHA}${Buffer.concat([sha1(password, salt), salt]).toString('base64')}`;
}

function sha1(...parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Takes the same time wherever the two differ; their digests have one length. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'latin1').digest();
  return timingSafeEqual(digest(one), digest(other));
}
