import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LocationLevel } from '../../src/compile/location-tree.ts';

type Rule =
  | { readonly kind: 'prefix' | 'stop' | 'exact'; readonly path: string }
  | { readonly kind: 'regex'; readonly source: string };

const path = fc.string({ unit: fc.constantFrom('/', 'a', 'b', '.'), maxLength: 5 }).map((rest) => `/${rest}`);
const rule: fc.Arbitrary<Rule> = fc.oneof(
  fc.record({ kind: fc.constantFrom('prefix' as const, 'stop' as const, 'exact' as const), path }),
  fc.record({
    kind: fc.constant('regex' as const),
    source: fc.constantFrom('a$', '^/a', '\\.b', 'b+', '^/$', 'ab'),
  }),
);
/** A plain prefix and `^~` of one path are the same location. */
const place = (of: Rule): string =>
  of.kind === 'regex' ? JSON.stringify(of) : `${of.kind === 'exact' ? '=' : ''}${of.path}`;

/** nginx's rules, word for word: exact, longest prefix, regexes in order unless the prefix says stop. */
function wanted(rules: readonly Rule[], uri: string): Rule | undefined {
  const exact = rules.find((one) => one.kind === 'exact' && one.path === uri);
  if (exact) return exact;
  let best: Rule | undefined;
  let length = -1;
  for (const one of rules) {
    if (one.kind !== 'prefix' && one.kind !== 'stop') continue;
    if (uri.startsWith(one.path) && one.path.length > length) [best, length] = [one, one.path.length];
  }
  if (best?.kind === 'stop') return best;
  return rules.find((one) => one.kind === 'regex' && new RegExp(one.source).test(uri)) ?? best;
}

test('a level finds the location of nginx’s rules', () => {
  fc.assert(
    fc.property(fc.uniqueArray(rule, { selector: place, maxLength: 10 }), path, (rules, uri) => {
      const level = new LocationLevel<Rule>();
      for (const target of rules) {
        if (target.kind === 'regex')
          level.addRegex({ target, inner: undefined, regex: new RegExp(target.source) });
        else if (target.kind === 'exact') level.addExact(target.path, { target, inner: undefined });
        else level.addPrefix(target.path, { target, inner: undefined, stop: target.kind === 'stop' });
      }
      expect(level.find(uri)?.target).toEqual(wanted(rules, uri));
    }),
    { numRuns: 3000 },
  );
});

test('a prefix nested in a regex is final: a regex further out does not override it', () => {
  const inner = new LocationLevel<string>();
  inner.addPrefix('/a/b', { target: 'prefix in regex', inner: undefined, stop: false });
  const middle = new LocationLevel<string>();
  middle.addRegex({ target: 'inner regex', inner, regex: /^\/a/ });
  const outer = new LocationLevel<string>();
  outer.addPrefix('/a', { target: 'outer prefix', inner: middle, stop: false });
  outer.addRegex({ target: 'outer regex', inner: undefined, regex: /b/ });
  expect(outer.find('/a/b')?.target).toBe('prefix in regex');
  expect(outer.find('/b')?.target).toBe('outer regex');
});
