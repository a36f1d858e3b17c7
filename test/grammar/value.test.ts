import { expect, test } from 'vitest';
import { Report, splitValue } from '../../grammar/index.ts';
import { loadText } from './load-text.ts';

function split(word: string, env: Record<string, string> = {}): { parts: unknown[]; faults: unknown[] } {
  const text = `a ${word};`;
  const { tree } = loadText(text, { env });
  const report = new Report();
  const written = (span: { start: number; end: number }): string => text.slice(span.start, span.end);
  const parts = splitValue(tree!.directives[0]!.args[0]!, report).map((part) =>
    'text' in part ? part.text : ['variable' in part ? part.variable : part.capture, written(part.span)],
  );
  return { parts, faults: report.faults.map(({ message, span }) => [message, written(span!)]) };
}

const cases = [
  { it: 'plain text is one part', word: 'abc', parts: ['abc'] },
  { it: 'an empty word has no parts', word: '""', parts: [] },
  {
    it: 'a name ends at the first other character',
    word: '$host:$port-',
    parts: [['host', '$host'], ':', ['port', '$port'], '-'],
  },
  { it: 'brackets end a name', word: '${a}b', parts: [['a', '${a}'], 'b'] },
  { it: 'a capture is one digit', word: '$12', parts: [[1, '$1'], '2'] },
  { it: 'zero is a name', word: '$0', parts: [['0', '$0']] },
  { it: 'digits in brackets are a name', word: '${1}', parts: [['1', '${1}']] },
  {
    it: 'places stay exact after escapes',
    word: '"\\"\\t$a\\\\${b}"',
    parts: ['"\t', ['a', '$a'], '\\', ['b', '${b}']],
  },
];

for (const { it, word, parts } of cases) {
  test(`in a value ${it}`, () => expect(split(word)).toEqual({ parts, faults: [] }));
}

test('in a value, text from the environment contains no variables', () => {
  expect(split('"\\n$a${env:X}$b${env:Y:-$1}"', { X: '$x${' })).toEqual({
    parts: ['\n', ['a', '$a'], '$x${', ['b', '$b'], '$1'],
    faults: [],
  });
});

const faults = [
  { it: 'a lone dollar', word: 'a$', fault: ['invalid variable name', '$'] },
  { it: 'a dollar before other text', word: '"\\"$-"', fault: ['invalid variable name', '$'] },
  { it: 'empty brackets', word: '${}', fault: ['invalid variable name', '${}'] },
  { it: 'an open bracket', word: '${a-b}', fault: ['the closing bracket in "a" variable is missing', '${a'] },
  { it: 'a name that would go on in an expansion', word: '$${env:X}', fault: ['invalid variable name', '$'] },
];

for (const { it, word, fault } of faults) {
  test(`a value with ${it} is refused`, () => expect(split(word, { X: 'x' }).faults).toEqual([fault]));
}
