import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  Locations,
  type LocationTree,
  type CheckedLocation,
} from '../../../src/tools/check/locations/index.ts';
import { Patterns } from '../../../src/tools/check/regex/index.ts';
import { configOf } from './configured.ts';
import { perTier } from '../../harness/tier.ts';

const heads = ['/', '/a', '/a/', '/b', '/ab', '/a/b'].flatMap((path) => [path, `= ${path}`, `^~ ${path}`]);
const regexes = ['/', '^/a', 'a$', '^/a/', '^/(a|b)$', '.', '^/.*b', '[^a]$', '^/b[^/]*$', 'ab'].map(
  (p) => `~ ${p}`,
);
const place = fc.record({
  head: fc.constantFrom(...heads, ...regexes),
  inner: fc.uniqueArray(fc.constantFrom('/a/b', '/ab', '= /a', '~ b$', '~ ^/a/a', '^~ /a/b/'), {
    maxLength: 2,
  }),
});

/** Nested locations only where nginx allows them: below their prefix, and never in an exact one. */
function blockOf({ head, inner }: { readonly head: string; readonly inner: readonly string[] }): string {
  const path = /^(?:\^~ )?(\/.*)$/.exec(head)?.[1];
  const isRegex = head.startsWith('~');
  const fits = (text: string): boolean =>
    text.startsWith('~') || isRegex || text.replace(/^\S+ (?=\/)/, '').startsWith(path ?? '');
  const nested = head.startsWith('=') ? [] : inner.filter(fits);
  return `location ${head} { ${nested.map((text) => `location ${text} {}`).join(' ')} }`;
}

/** Every path of up to five characters over a small alphabet. */
const uris = (function* () {
  let last = ['/'];
  for (let length = 1; length <= 5; length++) {
    yield* last;
    last = last.flatMap((uri) => ['/', 'a', 'b', 'c', '\n'].map((unit) => uri + unit));
  }
})();
const ALL = [...uris];

function locationsOf(tree: LocationTree): readonly CheckedLocation[] {
  return tree.levels.flatMap(({ locations }) => locations);
}

describe('the reach of locations', () => {
  test('agrees with the choices of their tree', () => {
    let proven = 0;
    fc.assert(
      fc.property(
        fc.uniqueArray(place, { minLength: 2, maxLength: 6, selector: ({ head }) => head }),
        (places) => {
          const config = configOf(`events {} http { server { ${places.map(blockOf).join('\n')} } }`);
          const locations = new Locations(config, new Patterns());
          const [tree] = locations.trees as [LocationTree];
          expect(locationsOf(tree).length).toBeGreaterThan(0);
          for (const { location: at, reach } of locations.reached()) {
            if (reach.kind === 'some' || reach.kind === 'odd') expect(tree.leadsTo(reach.uri, at)).toBe(true);
            if (reach.kind !== 'none') continue;
            proven++;
            expect(ALL.filter((uri) => tree.leadsTo(uri, at))).toEqual([]);
            if (reach.instead) expect(tree.find(reach.instead.uri)).toBe(reach.instead.winner);
          }
        },
      ),
      { numRuns: perTier({ short: 60, long: 400 }) },
    );
    expect(proven).toBeGreaterThan(20);
  });
});
