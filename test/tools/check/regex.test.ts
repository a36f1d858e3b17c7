import { describe, expect, test } from 'vitest';
import * as fc from 'fast-check';
import {
  containing,
  type Language,
  type Machine,
  not,
  type Pattern,
  Patterns,
  shortestWord,
} from '../../../src/tools/check/regex/index.ts';

function patternOf(text: string, caseless = false): Pattern {
  const pattern = new Patterns().of(text, caseless);
  if (!pattern) throw new Error(`"${text}" does not load`);
  return pattern;
}

function languageOf(text: string): Language {
  const { language } = patternOf(text);
  if (!language) throw new Error(`"${text}" has no language`);
  return language;
}

const search = (...machines: readonly Machine[]): string | 'none' | 'unknown' => {
  const { word, none } = shortestWord(machines, { states: 100_000 });
  return word ?? (none ? 'none' : 'unknown');
};

/** Whether a machine accepts a text. */
function has(machine: Machine, text: string): boolean {
  let state = machine.start;
  for (let at = 0; at < text.length; at++)
    state = state === -1 ? -1 : machine.step(state, text.charCodeAt(at));
  return state !== -1 && machine.accepts(state);
}

const PATTERNS = [
  '^/a/(?:\\.(?:php|jpg)$|x[^/]*)',
  '\\.php$',
  '^/$',
  '^(/|$)',
  '(^|/)\\.',
  'a|^b|c$',
  '^.*$',
  '[^/]+/?$',
  '^/x{2,3}',
  '',
  '$',
  '^$',
  '(?i)^/Ab',
  '^(a|b)*c',
  '^[[:alpha:]]+\\d$',
  '^/(?:(?:x|^)y)?$',
];

describe('the language of a pattern', () => {
  for (const text of PATTERNS) {
    test(`has the texts that /${text}/ matches`, () => {
      const language = languageOf(text);
      const { regex } = patternOf(text);
      const unit = fc.constantFrom(...'/abxy.c1\nphjg');
      fc.assert(
        fc.property(fc.string({ unit, maxLength: 9 }), (word) => {
          expect(has(language, word)).toBe(regex.test(word));
          expect(has(not(language), word)).toBe(!regex.test(word));
        }),
        { numRuns: 300 },
      );
    });
  }

  for (const text of ['^(?!/a)', '(a+)\\1', '\\bx', '(?<=a)b', '(^a){2}', '^(.*a.{14}b)+$'])
    test(`is not known of /${text}/`, () => expect(patternOf(text).language).toBeUndefined());
});

describe('a shortest word', () => {
  const cases: readonly (readonly [it: string, machines: () => readonly Machine[], word: string])[] = [
    ['is of both languages', () => [languageOf('^/a'), languageOf('\\.php$')], '/a.php'],
    ['is not of what is left out', () => [languageOf('^/a'), not(languageOf('^/a[^b]*$'))], '/ab'],
    ['has the asked character', () => [languageOf('^/[^/]*$'), containing('\n')], '/\n'],
    [
      'does not exist where one language has the other',
      () => [languageOf('^/a/b'), not(languageOf('^/a'))],
      'none',
    ],
    ['does not exist where a dot has no line feed', () => [languageOf('^/.*$'), containing('\n')], 'none'],
    ['may be empty', () => [languageOf('^a?$')], ''],
  ];
  for (const [it, machines, word] of cases) test(it, () => expect(search(...machines())).toBe(word));

  test('is not looked for beyond the budget', () => {
    expect(shortestWord([languageOf('^/abc')], { states: 2 })).toEqual({ none: false });
  });
});

describe('a capture group', () => {
  const groups: readonly (readonly [it: string, pattern: string, group: number, word: string])[] = [
    ['of a negated class holds line breaks', '^/x/([^/]+)$', 1, '\n'],
    ['of dots holds none', '^/x/(.+)$', 1, 'none'],
    ['is counted from the left', '^/(a)([^b])', 2, '\n'],
  ];
  for (const [it, text, number, word] of groups)
    test(it, () => expect(search(patternOf(text).group(number) as Language, containing('\n'))).toBe(word));

  test('is found by its name', () => {
    const pattern = patternOf('^/(?<first>a)/(?P<Second>b)');
    expect(pattern.groupNumber('second')).toBe(2);
    expect(pattern.groupNumber('third')).toBeUndefined();
    expect(pattern.groupCount).toBe(2);
  });

  test('is not known beside a look-around', () => {
    expect(patternOf('^/(?!x)([^/]+)$').group(1)).toBeUndefined();
  });
});

describe('a sample', () => {
  for (const [text, sample] of [
    ['\\.(?:jpg|png)$', { text: '.jpg', isStart: false }],
    ['^/a/([^/]+)/x?', { text: '/a/a/', isStart: true }],
    ['^(?=a)', undefined],
    ['a$b', undefined],
  ] as const)
    test(`of /${text}/ matches`, () => expect(patternOf(text).sample).toEqual(sample));
});
