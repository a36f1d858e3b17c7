import { expect, test } from 'vitest';
import { formatFault, formatFaults, placeOf, Report } from '../../grammar/index.ts';

const plainly = { program: 'gw', color: false };

function show(text: string, subject: string): string[] {
  const start = text.indexOf(subject);
  const span = { source: { name: 'a.conf', text }, start, end: start + subject.length };
  return formatFault({ severity: 'emerg', message: 'no', span }, plainly).split('\n');
}

const cases = [
  {
    it: 'marks the whole word',
    text: 'a\nbc def;\n',
    subject: 'def',
    is: ['2:4', '  2 | bc def;', '    |    ^^^'],
  },
  {
    it: 'shows tabs as blanks',
    text: '\ta\tb;',
    subject: 'b',
    is: ['1:4', '  1 |     a   b;', '    |         ^'],
  },
  {
    it: 'counts two columns for wide characters',
    text: '日本 b🎈 c',
    subject: 'b🎈',
    is: ['1:4', '  1 | 日本 b🎈 c', '    |      ^^^'],
  },
  {
    it: 'counts no column for combining marks',
    text: 'e\u0301 b',
    subject: 'b',
    is: ['1:4', '  1 | e\u0301 b', '    |   ^'],
  },
  {
    it: 'shows control bytes as codes',
    text: '\x1b[31m b',
    subject: 'b',
    is: ['1:7', '  1 | \\x1B[31m b', '    |          ^'],
  },
  {
    it: 'shows reordering characters as codes',
    text: '\u202e b',
    subject: 'b',
    is: ['1:3', '  1 | \\u202E b', '    |        ^'],
  },
  { it: 'drops the carriage return', text: 'a b\r\nc', subject: 'b', is: ['1:3', '  1 | a b', '    |   ^'] },
  {
    it: 'stops at the end of the first line',
    text: 'a "b\nc";',
    subject: '"b\nc"',
    is: ['1:3', '  1 | a "b', '    |   ^^'],
  },
  {
    it: 'pads the gutter',
    text: `${'\n'.repeat(99)}ab`,
    subject: 'b',
    is: ['100:2', '  100 | ab', '      |  ^'],
  },
];

for (const { it, text, subject, is } of cases) {
  test(`the excerpt ${it}`, () => {
    expect(show(text, subject)).toEqual([`gw: [emerg] no in a.conf:${is[0]}`, ...is.slice(1)]);
  });
}

test('the excerpt clips a long line around the caret', () => {
  const [, line, caret] = show(`${'x'.repeat(5000)} here ${'y'.repeat(5000)}`, 'here');
  expect(line).toMatch(/^ {2}1 \| \.\.\.x{39} here y+\.\.\.$/);
  expect(caret!.indexOf('^')).toBe(line!.indexOf('here'));
  expect(line!.length).toBeLessThan(120);
});

test('a message is one line and has no raw control byte', () => {
  const fault = { severity: 'warn', message: 'bad "a\nb\x07"', hint: 'not\x1b[0m' } as const;
  expect(formatFault(fault, plainly)).toBe('gw: [warn] bad "a\\x0Ab\\x07"\n  not\\x1B[0m');
});

test('colour adds escape sequences and nothing else', () => {
  const span = { source: { name: 'a.conf', text: 'a b;' }, start: 2, end: 3 };
  const fault = { severity: 'emerg', message: 'no', span, hint: 'yes' } as const;
  const coloured = formatFault(fault, { program: 'gw', color: true });
  // eslint-disable-next-line no-control-regex
  expect(coloured.replace(/\x1b\[\d+m/g, '')).toBe(formatFault(fault, plainly));
  expect(coloured).toContain('\x1b[31m');
});

test('faults are printed in the order of reading, then by place, those without a place last', () => {
  const [first, second] = ['1.conf', '2.conf'].map((name) => ({ name, text: 'a b c' }));
  const report = new Report();
  report.sources.push(first!, second!);
  report.emerg('nowhere');
  report.emerg('third', { source: second!, start: 0, end: 1 });
  report.emerg('second', { source: first!, start: 4, end: 5 });
  report.emerg('first', { source: first!, start: 2, end: 3 });
  const order = formatFaults(report, plainly).match(/(?<=\] )\w+/g);
  expect(order).toEqual(['first', 'second', 'third', 'nowhere']);
});

test('columns count code points and lines end at line feeds', () => {
  const source = { name: 'a.conf', text: 'a\r\n🎈b\n' };
  expect(placeOf({ source, start: 5, end: 6 })).toEqual({ file: 'a.conf', line: 2, column: 2 });
  expect(placeOf({ source, start: 7, end: 7 })).toEqual({ file: 'a.conf', line: 3, column: 1 });
});
