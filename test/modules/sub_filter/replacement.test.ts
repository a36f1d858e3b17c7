import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lowerAscii, ReplacingTransform, Search } from '../../../src/modules/sub_filter/replacement.ts';

interface Rules {
  readonly find: readonly string[];
  readonly once: boolean;
}

function transform({ find, once }: Rules): ReplacingTransform {
  const patterns = find.map((text, index) => ({ text: lowerAscii(text), index }));
  const substitute = (index: number): string => `<${index}>`;
  return new ReplacingTransform({ patterns, once, substitute, searchFor: (left) => new Search(left) });
}

function replace(rules: Rules, pieces: readonly string[]): string {
  const replacing = transform(rules);
  const out = pieces.map((piece) => Buffer.from(replacing.write(Buffer.from(piece, 'latin1'))));
  return Buffer.concat([...out, replacing.end()]).toString('latin1');
}

/** The slow way: at each byte, the first pattern that matches. */
function expected({ find, once }: Rules, text: string): string {
  const used = new Set<number>();
  let out = '';
  for (let at = 0; at < text.length;) {
    const index = find.findIndex(
      (pattern, number) => !used.has(number) && lowerAscii(text).startsWith(lowerAscii(pattern), at),
    );
    out += index < 0 ? text[at] : `<${index}>`;
    at += index < 0 ? 1 : (find[index] as string).length;
    if (once && index >= 0) used.add(index);
  }
  return out;
}

const few = fc.string({ unit: fc.constantFrom('a', 'A', 'b', 'c', '\xe9', '\xc9', '$', '('), maxLength: 12 });
const patterns = fc.array(
  few.filter((text) => text !== ''),
  { minLength: 1, maxLength: 4 },
);

test('a body in pieces gives the same result as the whole body', () => {
  fc.assert(
    fc.property(patterns, fc.boolean(), fc.array(few, { maxLength: 6 }), (find, once, pieces) => {
      const rules = { find, once };
      const text = pieces.join('');
      expect(replace(rules, pieces)).toBe(expected(rules, text));
      const whole = transform(rules).whole(Buffer.from(text, 'latin1'));
      expect(Buffer.from(whole).toString('latin1')).toBe(expected(rules, text));
    }),
    { numRuns: 2_000 },
  );
});

test('only bytes that can become a match are held back', () => {
  const replacing = transform({ find: ['abcd'], once: false });
  expect(Buffer.from(replacing.write(Buffer.from('xxabc'))).toString()).toBe('xx');
  expect(Buffer.from(replacing.write(Buffer.from('xab'))).toString()).toBe('abcx');
  expect(Buffer.from(replacing.end()).toString()).toBe('ab');
});

test('once everything is replaced, pieces pass unchanged', () => {
  const replacing = transform({ find: ['a'], once: true });
  replacing.write(Buffer.from('a'));
  const piece = Buffer.from('a');
  expect(replacing.write(piece)).toBe(piece);
});
