import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mostSteps } from '../../src/config/regex/index.ts';
import { BoundedRegex, MatchLimit, MAX_STEPS } from '../../src/http/regex/regex.ts';
import { perTier } from '../harness/tier.ts';

/** The match that JavaScript's own engine finds, as plain data. */
function found(match: RegExpExecArray | null): unknown {
  return match && { groups: [...match], named: { ...match.groups }, index: match.index };
}

/** Each piece is a construct in which the two engines could differ. */
const pieces = [
  '',
  ...'a b [ab] [^a] \\w . ^ $ \\b \\B (a) (?:b) (?<n>ab?) (a|ab) (a)|b (?:(a)|(b))* (a*)b (|a) | \\1'.split(
    ' ',
  ),
  ...'(?=a) (?!b) (?<=a) (?<!b) (?=(a)) (?<=(ab?)) (?<=(a)\\2) (?!(a)b) (?<=a|(b))'.split(' '),
];
const quantifiers = ['', '*', '+', '?', '*?', '+?', '??', '{2}', '{1,3}', '{0,2}?', '{2,}'];
const RUNS = perTier({ short: 1_500, long: 20_000 });

const piece = fc.tuple(fc.constantFrom(...pieces), fc.constantFrom(...quantifiers), fc.boolean());
const source = fc
  .array(piece, { minLength: 1, maxLength: 5 })
  .map((list) =>
    list.map(([text, count, isGroup]) => (isGroup ? `(${text})${count}` : `(?:${text})${count}`)).join(''),
  );
const text = fc.array(fc.constantFrom(...'aab-'), { maxLength: 9 }).map((list) => list.join(''));

test('a pattern matches as in JavaScript: the same text, the same groups', () => {
  fc.assert(
    fc.property(source, text, (pattern, subject) => {
      const regex = compiled(pattern);
      if (!regex) return;
      expect(found(new BoundedRegex(pattern).exec(subject))).toEqual(found(regex.exec(subject)));
    }),
    { numRuns: RUNS },
  );
});

/** A group's name may occur twice. */
function compiled(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern);
  } catch {
    return undefined;
  }
}

/** One step of the estimate stands for several steps of the matcher. */
const INSTRUCTIONS = 10;
const pumped = fc
  .tuple(
    fc.constantFrom('a', 'ab', 'a-', 'aab'),
    fc.integer({ min: 1, max: 60 }),
    fc.constantFrom('', '-', 'b', '!'),
  )
  .map(([unit, count, end]) => unit.repeat(count) + end);

test('a match takes no more steps than the load has estimated', () => {
  fc.assert(
    fc.property(source, fc.constantFrom('', '^'), pumped, (pattern, start, subject) => {
      const whole = `${start}(?:${pattern})$`;
      const most = compiled(whole) ? mostSteps(whole)(subject.length) : 0;
      if (most === 0 || most > 100_000) return;
      const regex = new BoundedRegex(whole, INSTRUCTIONS * most);
      expect(() => regex.exec(subject)).not.toThrow();
    }),
    { numRuns: RUNS },
  );
});

test.each([
  ['^(?:(?=a)a+)+$', 'a'.repeat(40) + '-'],
  ['^(a)(?:a|aa)+\\1$', 'a'.repeat(40) + '-'],
  ['(?!x)a+b', 'a'.repeat(32_768)],
])('%s is given up after a number of steps', (pattern, subject) => {
  expect(() => new BoundedRegex(pattern).exec(subject)).toThrow(MatchLimit);
});

test('a text of the largest size that fits the steps is matched without recursion', () => {
  const subject = 'a'.repeat(MAX_STEPS / 8);
  expect(new BoundedRegex('^(?!b)(a*)$').exec(subject)?.[1]).toBe(subject);
});
