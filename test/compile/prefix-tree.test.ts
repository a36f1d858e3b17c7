import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PrefixTree } from '../../src/compile/location-tree.ts';

const text = fc.string({ unit: fc.constantFrom('/', 'a', 'b', 'ä', '%'), maxLength: 8 });

test('the tree finds the longest prefix, as a search through every prefix does', () => {
  fc.assert(
    fc.property(fc.uniqueArray(text), text, (prefixes, uri) => {
      const tree = new PrefixTree<string>();
      for (const prefix of prefixes) tree.set(prefix, prefix);
      const longest = prefixes
        .filter((prefix) => uri.startsWith(prefix))
        .reduce<string | undefined>(
          (best, prefix) => (best === undefined || prefix.length > best.length ? prefix : best),
          undefined,
        );
      expect(tree.longest(uri)).toBe(longest);
    }),
    { numRuns: 2000 },
  );
});
