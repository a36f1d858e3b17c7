import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { desCrypt } from './des-crypt.ts';

const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ROUNDS = 1000;
const LONGEST_SALT = 8;
/** Which bytes of the digest stand together in four characters; the last one stands alone in two. */
const GROUPS = [
  [0, 6, 12],
  [1, 7, 13],
  [2, 8, 14],
  [3, 9, 15],
  [4, 10, 5],
] as const;
const LAST = 11;

/**
 * MD5-crypt (Poul-Henning Kamp, FreeBSD) of a password under the salt of `setting`: `$1$salt$…`, or `$apr1$salt$…` as
 * Apache's htpasswd writes it.
 */
export function md5Crypt(password: Buffer, setting: string): string {
  const [, magic = '', salt = ''] = /^(\$(?:1|apr1)\$)([^$]*)/.exec(setting) ?? [];
  const saltBytes = Buffer.from(salt.slice(0, LONGEST_SALT), 'latin1');
  let digest = first(password, Buffer.from(magic), saltBytes);
  for (let round = 0; round < ROUNDS; round++) {
    const isOdd = round % 2 === 1;
    const parts = [isOdd ? password : digest];
    if (round % 3 !== 0) parts.push(saltBytes);
    if (round % 7 !== 0) parts.push(password);
    parts.push(isOdd ? digest : password);
    digest = md5(...parts);
  }
  return `${magic}${saltBytes.toString('latin1')}$${encode(digest)}`;
}

function first(password: Buffer, magic: Buffer, salt: Buffer): Buffer {
  const inner = md5(password, salt, password);
  const parts = [password, magic, salt];
  for (let left = password.length; left > 0; left -= inner.length) parts.push(inner.subarray(0, left));
  // One byte for each bit of the length: a quirk that every implementation has kept.
  const zero = Buffer.alloc(1);
  for (let bits = password.length; bits > 0; bits >>= 1) {
    parts.push((bits & 1) === 1 ? zero : password.subarray(0, 1));
  }
  return md5(...parts);
}

function md5(...parts: readonly Buffer[]): Buffer {
  const hash = createHash('md5');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function encode(digest: Buffer): string {
  const byte = (index: number): number => digest[index] as number;
  const groups = GROUPS.map(([a, b, c]) => characters((byte(a) << 16) | (byte(b) << 8) | byte(c), 4));
  return groups.join('') + characters(byte(LAST), 2);
}

function characters(value: number, count: number): string {
  let text = '';
  for (let n = 0; n < count; n++) text += ALPHABET[(value >> (6 * n)) & 63] as string;
  return text;
}

/** SHA-256 and SHA-512 crypt. Throws for a setting that it cannot read. */
type ShaCrypt = (password: string, setting: string) => string;

/** Identifier, rounds and salt, without the digest behind them. */
const SHA_SETTING = /^\$[56]\$(?:rounds=(\d+)\$)?[^$]*/;
/** The library takes memory for each of them. */
const MAX_SHA_ROUNDS = 1_000_000;
const DES = /^[./0-9A-Za-z]{13}$/;

/** What the forms of crypt(3) that are computed in JavaScript make of a password; `undefined`: the stored one is none of them. */
export function computeCrypt(password: Buffer, stored: string, shaCrypt: ShaCrypt): string | undefined {
  if (/^\$(?:1|apr1)\$/.test(stored)) return md5Crypt(password, stored);
  if (SHA_SETTING.test(stored)) return sha2(password, stored, shaCrypt);
  return DES.test(stored) ? desCrypt(password, stored) : undefined;
}

function sha2(password: Buffer, stored: string, shaCrypt: ShaCrypt): string | undefined {
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
