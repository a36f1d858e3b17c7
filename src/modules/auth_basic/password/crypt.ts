import { isUtf8 } from 'node:buffer';
import md5Crypt from 'apache-md5';

/** SHA-256 and SHA-512 crypt. Throws for a setting that it cannot read. */
type ShaCrypt = (password: string, setting: string) => string;

/** Identifier, rounds and salt, without the digest behind them. */
const SHA_SETTING = /^\$[56]\$(?:rounds=(\d+)\$)?[^$]*/;
/** The library takes memory for each of them. */
const MAX_SHA_ROUNDS = 1_000_000;

/** What the forms of crypt(3) that are computed in JavaScript make of a password; `undefined`: the stored one is none of them. */
export function computeCrypt(password: Buffer, stored: string, shaCrypt: ShaCrypt): string | undefined {
  if (/^\$(?:1|apr1)\$/.test(stored)) return md5Crypt(password.toString('latin1'), stored);
  return SHA_SETTING.test(stored) ? sha2(password, stored, shaCrypt) : undefined;
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
