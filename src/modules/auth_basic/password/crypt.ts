import { isUtf8 } from 'node:buffer';
import md5Crypt from 'apache-md5';

/** Computes SHA-256 or SHA-512 crypt. Throws if the setting is invalid. */
type ShaCrypt = (password: string, setting: string) => string;

/** Identifier, rounds and salt, without the digest. */
const SHA_SETTING = /^\$[56]\$(?:rounds=(\d+)\$)?[^$]*/;
/** The library allocates memory for each round. */
const MAX_SHA_ROUNDS = 1_000_000;

/** Computes the schemes of crypt(3) that are implemented in JavaScript; `undefined`: the stored password has another scheme. */
export function computeCrypt(password: Buffer, stored: string, shaCrypt: ShaCrypt): string | undefined {
  if (/^\$(?:1|apr1)\$/.test(stored)) return md5Crypt(password.toString('latin1'), stored);
  return SHA_SETTING.test(stored) ? sha2(password, stored, shaCrypt) : undefined;
}

function sha2(password: Buffer, stored: string, shaCrypt: ShaCrypt): string | undefined {
  const [setting = '', rounds = '0'] = SHA_SETTING.exec(stored) ?? [];
  // The library takes text, and different invalid bytes would become the same character.
  if (!isUtf8(password)) return '';
  if (Number(rounds) > MAX_SHA_ROUNDS) return undefined;
  try {
    return shaCrypt(password.toString(), setting);
  } catch {
    return undefined;
  }
}
