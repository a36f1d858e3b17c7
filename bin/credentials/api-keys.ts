import { createHash, randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
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
/** The account that serves reads the file, which has no keys: their hashes cannot be guessed. */
const MODE = 0o644;
const LONGEST_MS = 100 * 365 * 86_400_000;

/**
 * `gw apikey new`: prints a new key, and the line for the file of keys, which has only its hash. Exit code 1: the file
 * cannot be written; 2: an option is wrong.
 */
export function newApiKey(id: string, { ttl, set, file }: ApiKeyOptions): number {
  if (!isKeyId(id)) return fail(`invalid id "${id}"\n  expected letters, digits and . _ @ + -`, 2);
  const ttlMs = ttl === undefined ? undefined : readers.parseTimeMs(ttl);
  if (ttl !== undefined && (!ttlMs || ttlMs > LONGEST_MS))
    return fail(`invalid time "${ttl}"\n  expected a time such as 90d or 12h, at most 100y`, 2);
  const wrong = set.find((attribute) => !ATTRIBUTE.test(attribute));
  if (wrong !== undefined)
    return fail(
      `invalid attribute "${wrong}"\n  expected name=value: a lower-case name, a value without a comma`,
      2,
    );
  const key = `gwk_${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  const expires = ttlMs === undefined ? '' : new Date(Date.now() + ttlMs).toISOString().replace(/\.\d+/, '');
  const fields = [id, createHash('sha256').update(key).digest('hex'), expires, set.join(',')];
  const line = fields.join(':').replace(/:+$/, '');
  if (file !== undefined) {
    try {
      appendFileSync(file, `${endsInLine(file) ? '' : '\n'}${line}\n`, { mode: MODE });
    } catch (error) {
      return fail(failureText(error, file), 1);
    }
  }
  process.stdout.write(`${key}\n${file === undefined ? `${line}\n` : ''}`);
  return 0;
}

/** True if a line can be appended to a file. */
function endsInLine(file: string): boolean {
  const text = existsSync(file) ? readFileSync(file, 'latin1') : '';
  return text === '' || text.endsWith('\n');
}
