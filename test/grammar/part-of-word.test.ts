import { expect, test } from 'vitest';
import { partOfWord, Report, spanInWord, splitValue } from '../../grammar/index.ts';
import { loadText } from './load-text.ts';

const env = { X: '$x' };

/** The word, which part of it, and what that part is: its value, its source text, and its parts as a value. */
const cases = [
  { word: '($host', cut: [1], value: '$host', written: '$host', parts: ['host'] },
  { word: '"~*a"', cut: [2], value: 'a', written: 'a', parts: ['a'] },
  { word: '$a)', cut: [0, 2], value: '$a', written: '$a', parts: ['a'] },
  { word: '"\\"($a\\")"', cut: [2, 5], value: '$a"', written: '$a\\"', parts: ['a', '"'] },
  { word: '"(a${env:X}b)"', cut: [1, 5], value: 'a$xb', written: 'a${env:X}b', parts: ['a$xb'] },
  { word: '"${env:X}?$b"', cut: [3], value: '$b', written: '$b', parts: ['b'] },
  { word: '"a?"', cut: [2], value: '', written: '', parts: [] },
] as const;

for (const { word, cut, value, written, parts } of cases) {
  test(`a part of the word ${word} keeps its places and its text`, () => {
    const text = `a ${word};`;
    const { tree } = loadText(text, { env });
    const [start, end] = cut as readonly [number, number?];
    const part = partOfWord(tree!.directives[0]!.args[0]!, start, end);
    const span = spanInWord(part, 0, part.value.length);
    expect(part.value).toBe(value);
    expect(text.slice(part.span.start, part.span.end)).toBe(written);
    expect(text.slice(span.start, span.end)).toBe(written);
    const split = splitValue(part, new Report()).map((each) =>
      'text' in each ? each.text : 'variable' in each ? each.variable : each.capture,
    );
    expect(split).toEqual(parts);
  });
}
