import { type FileContent, readParsed, WatchedFiles } from '../../system/index.ts';
import { type KeySet, readKeySet } from '../../tokens/index.ts';

/** More than any set of keys needs. */
const FORM = { parse: parseKeys, what: 'keys', mostBytes: 1_048_576 };

function parseKeys(text: string): FileContent<KeySet> {
  const keys = readKeySet(text);
  return 'fault' in keys ? keys : { value: keys };
}

/** Reads the JWK set in a file. */
export function readKeys(path: string): FileContent<KeySet> {
  return readParsed(path, FORM);
}

/** The key files of one worker. */
export type KeyFiles = WatchedFiles<KeySet>;

/** Opens the key files of one worker. */
export function openKeyFiles(tell: (fault: string) => void): KeyFiles {
  return new WatchedFiles({ ...FORM, tell });
}
