import { fnv1a } from '../dictionary/entry.ts';
import { type CacheTable, tagBits } from './cache-table.ts';
import { KEY_HASH, TAG_BITS, TAGS_LENGTH } from './kind.ts';
import type { PurgeList } from './purges.ts';

/** Returns the index of the first text that matches the entry; -1 if none does. The caller holds the zone's lock. */
export type PurgeMatcher = (table: CacheTable, entry: number) => number;

/** Compiles purges, so that all entries are compared with them in one pass. */
export function purgeMatcher({ kind, texts }: PurgeList): PurgeMatcher {
  switch (kind) {
    case 'key':
      return keyMatcher(texts);
    case 'prefix':
      return prefixMatcher(texts);
    case 'tag':
      return tagMatcher(texts);
    case 'tag prefix':
      return (table, entry) => {
        if (table.u16(entry, TAGS_LENGTH) === 0) return -1;
        const tags = table.tags(entry);
        return texts.findIndex((text) => tags.some((tag) => tag.startsWith(text)));
      };
  }
}

/** Variants of a response have the same key. */
function keyMatcher(texts: readonly string[]): PurgeMatcher {
  const byHash = new Map<number, { readonly key: Buffer; readonly nth: number }[]>();
  for (const [nth, text] of texts.entries()) {
    const key = Buffer.from(text);
    const hash = fnv1a(key);
    byHash.set(hash, [...(byHash.get(hash) ?? []), { key, nth }]);
  }
  return (table, entry) => {
    const candidates = byHash.get(table.u32(entry, KEY_HASH));
    return candidates?.find(({ key }) => table.hasKey(entry, key))?.nth ?? -1;
  };
}

function prefixMatcher(texts: readonly string[]): PurgeMatcher {
  const byLength = new Map<number, Map<string, number>>();
  for (const [nth, text] of texts.entries()) {
    const prefix = Buffer.from(text).toString('latin1');
    const alike = byLength.get(prefix.length) ?? new Map<string, number>();
    if (!alike.has(prefix)) alike.set(prefix, nth);
    byLength.set(prefix.length, alike);
  }
  const longest = Math.max(...byLength.keys());
  return (table, entry) => {
    const key = table.keyStart(entry, longest);
    let first = Infinity;
    for (const [length, alike] of byLength) {
      const nth = length <= key.length ? alike.get(key.slice(0, length)) : undefined;
      if (nth !== undefined) first = Math.min(first, nth);
    }
    return first === Infinity ? -1 : first;
  };
}

function tagMatcher(texts: readonly string[]): PurgeMatcher {
  const masks = texts.map(tagBits);
  return (table, entry) => {
    const bits = table.u32(entry, TAG_BITS);
    if (!masks.some((mask) => (bits & mask) >>> 0 === mask)) return -1;
    const tags = new Set(table.tags(entry));
    return texts.findIndex((text) => tags.has(text));
  };
}
