import { createHash, randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { readers } from '../../src/config/index.ts';
import { isKeyId } from '../../src/tools/lookups.ts';
import { fail, failureText } from '../terminal.ts';

/** Options of `gw apikey new`. */
export interface ApiKeyOptions {
  readonly ttl?: string;
  readonly set: readonly string[];
  readonly file?: string;
}

const SECRET_BYTES = 20;
const ATTRIBUTE = /^[a-z]\w*=[^,\r\n]*$/;
/** Only the account that makes a file may read it. */
const PRIVATE = 0o600;

/**
 * `gw apikey new`: prints a new key, and the line for the file of keys, which has only its hash. Exit code 1: the file
 * cannot be written; 2: an option is wrong.
 */
export function newApiKey(id: string, { ttl, set, file }: ApiKeyOptions): number {
  if (!isKeyId(id)) return fail(`invalid id "${id}"\n  expected letters, digits and . _ @ + -`, 2);
  const ttlMs = ttl === undefined ? undefined : readers.parseTimeMs(ttl);
  if (ttl !== undefined && !ttlMs)
    return fail(`invalid time "${ttl}"\n  expected a time such as 90d or 12h`, 2);
  const wrong = set.find((attribute) => !ATTRIBUTE.test(attribute));
  if (wrong !== undefined)
    return fail(`invalid attribute "${wrong}"\n  expected name=value, without a comma`, 2);
  const key = `gwk_${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  const expires = ttlMs === undefined ? '' : new Date(Date.now() + ttlMs).toISOString().replace(/\.\d+/, '');
  const fields = [id, createHash('sha256').update(key).digest('hex'), expires, set.join(',')];
  const line = fields.join(':').replace(/:+$/, '');
  if (file !== undefined) {
    try {
      appendFileSync(file, `${line}\n`, { mode: PRIVATE });
    } catch (error) {
      return fail(failureText(error, file), 1);
    }
  }
  process.stdout.write(`${key}\n${file === undefined ? `${line}\n` : ''}`);
  return 0;
}
