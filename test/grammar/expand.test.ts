import { expect, test } from 'vitest';
import { printableWord, spanInWord } from '../../grammar/index.ts';
import { loadText } from './load-text.ts';

const env = { NAME: 'value', EMPTY: '', DOLLAR: '$host;}', SET: 'x' };
const files: Record<string, string> = { '/etc/gw/pw': 'secret\n', '/run/two': 'a\r\nb\r\n\r\n' };

function readFile(path: string, maxBytes: number): string {
  const text = files[path];
  if (path === '/big') throw Object.assign(new Error('large'), { code: 'EFBIG', maxBytes });
  if (text === undefined) throw Object.assign(new Error('missing'), { code: 'ENOENT' });
  return text;
}

const load = (text: string) => loadText(text, { file: '/etc/gw/gw.conf', env, readFile });

const cases = [
  { it: 'a variable', word: 'a-${env:NAME}-b', is: 'a-value-b', literals: [[2, 7]] },
  { it: 'a quoted variable', word: '"${env:NAME} x"', is: 'value x', literals: [[0, 5]] },
  { it: 'an empty variable', word: 'a${env:EMPTY}', is: 'a', literals: [[1, 1]] },
  { it: 'a default', word: '"${env:NO:-a b;{\\"$c}"', is: 'a b;{"$c', literals: [[0, 8]] },
  { it: 'an empty default', word: '"${env:NO:-}"', is: '', literals: [[0, 0]] },
  { it: 'a default for an empty variable', word: '${env:EMPTY:-x}', is: 'x', literals: [[0, 1]] },
  { it: 'no default for a variable that is set', word: '${env:SET:-y}', is: 'x', literals: [[0, 1]] },
  {
    it: 'a file beside the main file, without its last line end',
    word: '${file:pw}',
    is: 'secret',
    literals: [[0, 6]],
  },
  { it: 'a file by its path', word: '${file:/run/two}', is: 'a\r\nb\r\n', literals: [[0, 6]] },
  {
    it: 'several references in order',
    word: '"${env:SET}\\t${env:NAME}"',
    is: 'x\tvalue',
    literals: [
      [0, 1],
      [2, 7],
    ],
  },
  { it: 'a value that looks like syntax', word: '${env:DOLLAR}', is: '$host;}', literals: [[0, 7]] },
];

for (const { it, word: written, is, literals } of cases) {
  test(`the reader expands ${it}`, () => {
    const { tree, report } = load(`a ${written};`);
    expect(report.faults).toEqual([]);
    const [word] = tree!.directives[0]!.args;
    expect(word).toMatchObject({ value: is, literals, secret: true });
    expect(printableWord(word!)).toBe(written);
  });
}

const refusals = [
  {
    word: '"x ${env:NO}"',
    message: 'environment variable "NO" is not set and has no default',
    at: '${env:NO}',
  },
  { word: '${env:}', message: 'invalid environment variable name ""', at: '${env:}' },
  { word: '${env:A:x}', message: 'invalid environment variable name "A:x"', at: '${env:A:x}' },
  { word: '${env:A', message: 'the closing bracket in "${env:A" is missing', at: '${env:A' },
  { word: '${file:/none}', message: '"${file:/none}" cannot be read: no such file', at: '${file:/none}' },
  { word: '${file:/big}', message: '"${file:/big}" cannot be read: larger than 64 KB', at: '${file:/big}' },
];

for (const { word, message, at } of refusals) {
  test(`the reader refuses ${word}, and a later stage does not report it again`, () => {
    const text = `a ${word};`;
    const { tree, report } = load(text);
    report.emerg('consequence', tree!.directives[0]!.args[0]!.span);
    expect(report.faults).toMatchObject([{ message }]);
    const { start, end } = report.faults[0]!.span!;
    expect(text.slice(start, end)).toBe(at);
  });
}

test('comments and ordinary variables are not expanded', () => {
  const { tree, report } = load('# ${env:NO}\na ${environment} $env;');
  expect(report.faults).toEqual([]);
  expect(tree!.directives[0]!.args.map((word) => word.secret)).toEqual([false, false]);
});

test('places in a word stay exact around expansions', () => {
  const text = 'a "\\"${env:NAME}b\\\\c";';
  const [word] = load(text).tree!.directives[0]!.args;
  const at = (part: string): string => {
    const start = word!.value.indexOf(part);
    const span = spanInWord(word!, start, start + part.length);
    return text.slice(span.start, span.end);
  };
  expect([at('"'), at('value'), at('alu'), at('b'), at('\\'), at('c')]).toEqual([
    '\\"',
    '${env:NAME}',
    '${env:NAME}',
    'b',
    '\\\\',
    'c',
  ]);
});
