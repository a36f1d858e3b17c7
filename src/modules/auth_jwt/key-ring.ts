import { LRUCache } from 'lru-cache';
import type { Build } from '../../contract/index.ts';
import { compileNamedFile, type Exchange } from '../../http/index.ts';
import { joinKeys, type KeySet } from '../../tokens/index.ts';
import type { AuthJwtConfig } from './directives.ts';
import type { KeyFiles } from './key-files.ts';

/** The keys for a request, and the sources that have none at present. */
export interface KeyRing {
  readonly keys: KeySet;
  readonly faults: readonly string[];
}

const NO_KEYS: KeyRing = {
  keys: joinKeys([], { needsKid: false }),
  faults: ['"auth_jwt" has no keys here: "auth_jwt_key_file" is not set'],
};

/** Joined sets that are kept: names of files may contain variables. */
const MOST_RINGS = 100;

/** Compiles the keys of a location. They are joined again only if one of the sets has changed. */
export function compileKeyRing(
  { keyFiles = [], keyCacheMs, algorithms, strictKid }: AuthJwtConfig,
  files: KeyFiles,
  build: Build,
): (x: Exchange, nowMs: number) => KeyRing {
  const pathsOf = keyFiles.map((file) => {
    if (!('path' in file)) return compileNamedFile(file, build, 'key file');
    const { path } = file;
    return () => path;
  });
  const joined = new LRUCache<string, KeySet>({ max: MOST_RINGS });
  let last: { readonly sets: readonly KeySet[]; readonly keys: KeySet } | undefined;
  const join = (sets: readonly KeySet[]): KeySet => {
    if (last?.sets.length === sets.length && last.sets.every((set, index) => set === sets[index]))
      return last.keys;
    const id = sets.map((set) => set.id).join(' ');
    const keys = joined.get(id) ?? joinKeys(sets, { algorithms, needsKid: strictKid });
    joined.set(id, keys);
    last = { sets, keys };
    return keys;
  };
  if (pathsOf.length === 0) return () => NO_KEYS;
  return (x, nowMs) => {
    const sets: KeySet[] = [];
    const faults: string[] = [];
    for (const pathOf of pathsOf) {
      const keys = files.keysOf(pathOf(x), keyCacheMs, nowMs);
      if ('fault' in keys) faults.push(keys.fault);
      else sets.push(keys);
    }
    return { keys: join(sets), faults };
  };
}
