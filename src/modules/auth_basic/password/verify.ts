import { isUtf8 } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import { desCrypt } from './des-crypt.ts';
import { md5Crypt } from './md5-crypt.ts';

/** What takes long; loaded only where some location asks for passwords. */
export interface PasswordLibraries {
  /** bcrypt, in the thread pool. */
  readonly bcrypt: (password: Uint8Array, stored: string) => Promise<boolean>;
  /** SHA-256 and SHA-512 crypt. Throws for a setting that it cannot read. */
  readonly shaCrypt: (password: string, setting: string) => string;
}

const BCRYPT = /^\$2[aby]\$/;
/** Identifier, rounds and salt, without the digest behind them. */
const SHA_SETTING = /^\$[56]\$(?:rounds=(\d+)\$)?[^$]*/;
/** The library takes memory for each of them, and nobody is served meanwhile. */
const MAX_SHA_ROUNDS = 1_000_000;
const DES = /^[./0-9A-Za-z]{13}$/;
const SHA1_BYTES = 20;

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
): boolean | undefined | Promise<boolean> {
  // No password that htpasswd takes has one, and those who measure in C would stop there.
  if (password.includes(0)) return false;
  if (BCRYPT.test(stored)) return libraries.bcrypt(password, stored);
  const computed = compute(password, stored, libraries);
  return computed === undefined ? undefined : isSame(computed, stored);
}

function compute(password: Buffer, stored: string, { shaCrypt }: PasswordLibraries): string | undefined {
  if (stored.startsWith('{PLAIN}')) return `{PLAIN}${password.toString('latin1')}`;
  if (stored.startsWith('{SHA}')) return `{SHA}${sha1(password).toString('base64')}`;
  if (stored.startsWith('{SSHA}')) return ssha(password, stored);
  if (/^\$(?:1|apr1)\$/.test(stored)) return md5Crypt(password, stored);
  if (SHA_SETTING.test(stored)) return sha2(password, stored, shaCrypt);
  return DES.test(stored) ? desCrypt(password, stored) : undefined;
}

function sha2(password: Buffer, stored: string, shaCrypt: PasswordLibraries['shaCrypt']): string | undefined {
  const [setting = '', rounds = '0'] = SHA_SETTING.exec(stored) ?? [];
  // The library takes text, where different bytes that are none would become the same.
  if (!isUtf8(password)) return '';
  if (Number(rounds) > MAX_SHA_ROUNDS) return undefined;
  try {
    return shaCrypt(password.toString(), setting);
  } catch {
    return undefined;
  }
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
