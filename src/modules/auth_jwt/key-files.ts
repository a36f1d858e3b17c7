import { type FileContent, readParsed, WatchedFiles } from '../../system/index.ts';
import { type KeySet, readKeyMap, readKeySet } from '../../tokens/index.ts';

/** The forms of keys: a JWK set, or keys by their ids. */
export type KeyFormat = 'jwks' | 'keyval';

export const READERS = { jwks: readKeySet, keyval: readKeyMap } as const;

/** More than any set of keys needs. */
const formOf = (format: KeyFormat) => ({
  what: 'keys',
  mostBytes: 1_048_576,
  parse(text: string): FileContent<KeySet> {
    const keys = READERS[format](text);
    return 'fault' in keys ? keys : { value: keys };
  },
});

/** Reads the keys in a file. */
export function readKeys(path: string, format: KeyFormat = 'jwks'): FileContent<KeySet> {
  return readParsed(path, formOf(format));
}

/** The key files of one worker. */
export type KeyFiles = Readonly<Record<KeyFormat, WatchedFiles<KeySet>>>;

/** Opens the key files of one worker. */
export function openKeyFiles(tell: (fault: string) => void): KeyFiles {
  const open = (format: KeyFormat) => new WatchedFiles({ ...formOf(format), tell });
  return { jwks: open('jwks'), keyval: open('keyval') };
}
