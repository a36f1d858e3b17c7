import { expect, test } from 'vitest';
import type { Report } from '../../grammar/index.ts';
import { loadText, plain } from './load-text.ts';

const messages = (report: Report): string[] => report.faults.map((fault) => fault.message);

test('a missing semicolon before a closing brace affects no other directive', () => {
  const { tree, report } = loadText('server {\n  listen 80\n  server_name a\n}\nhttp {}');
  expect(plain(tree!.directives)).toEqual([
    [
      'server',
      [
        ['listen', '80'],
        ['server_name', 'a'],
      ],
    ],
    ['http', []],
  ]);
  expect(messages(report)).toEqual([
    'directive "listen" is not terminated by ";"',
    'directive "server_name" is not terminated by ";"',
  ]);
});

test('a missing semicolon before a block affects nothing in the block', () => {
  const { tree, report } = loadText(
    'listen 80\n  server_name\n    a b\nserver {\n  index a\n  location\n    / {}\n}',
  );
  expect(plain(tree!.directives)).toEqual([
    ['listen', '80'],
    ['server_name', 'a', 'b'],
    [
      'server',
      [
        ['index', 'a'],
        ['location', '/', []],
      ],
    ],
  ]);
  expect(messages(report).sort()).toEqual([
    'directive "index" is not terminated by ";"',
    'directive "listen" is not terminated by ";"',
    'directive "server_name" is not terminated by ";"',
  ]);
});

const wholeBlocks = [
  { it: 'that can be one', text: 'if\nserver {}' },
  { it: 'before a word that is quoted', text: 'listen 80\n"server" {}' },
  { it: 'before a word inside a line', text: 'listen server {}' },
];

for (const { it, text } of wholeBlocks) {
  test(`the first word names the block: ${it}`, () => {
    const { tree, report } = loadText(text);
    expect(tree!.directives).toHaveLength(1);
    expect(report.faults).toEqual([]);
  });
}

const lines = [
  { it: 'at the same indent is blamed', text: 'listen 80\nserver_name a;', blames: true },
  {
    it: 'after a directive inside a line is blamed',
    text: 'server { listen 80\n  server_name a; }',
    blames: true,
  },
  { it: 'that is indented deeper is not blamed', text: 'listen 80\n  server_name a;', blames: false },
  { it: 'whose first word is quoted is not blamed', text: 'listen 80\n"server_name" a;', blames: false },
  { it: 'whose first word is unknown is not blamed', text: 'index a.html\ninclude.html;', blames: false },
  { it: 'after an unknown directive is not blamed', text: 'lsiten 80\nserver_name a;', blames: false },
];

for (const { it, text, blames } of lines) {
  test(`a line ${it} for a missing semicolon once a later stage refuses the directive`, () => {
    const { tree, report } = loadText(text);
    expect(report.faults).toEqual([]);
    const [first] = tree!.directives;
    const node = first!.name.value === 'server' ? first!.block![0]! : first!;
    report.emerg('refused', node.args[0]!.span);
    report.emerg('refused again', node.name.span);
    expect(messages(report)).toEqual(
      blames ? ['directive "listen" is not terminated by ";"'] : ['refused', 'refused again'],
    );
  });
}

test('braces that do not match leave no tree to check', () => {
  expect(loadText('http {').tree).toBeUndefined();
  expect(loadText('}').tree).toBeUndefined();
});

test('a hundred thousand nested blocks are one fault', () => {
  const { tree, report } = loadText('a {'.repeat(100_000) + '}'.repeat(100_000) + '\nb;');
  expect(messages(report)).toEqual(['blocks are nested deeper than 100 levels']);
  expect(tree!.directives[1]!.name.value).toBe('b');
});

test('no more than a hundred faults of one file are reported', () => {
  const { report } = loadText(';'.repeat(500));
  expect(report.faults).toHaveLength(101);
  expect(report.faults.at(-1)!.message).toBe('more than 100 faults, the rest of the file is not shown');
});

test('the expensive parts of a fault are computed only when it is shown', () => {
  const { tree, report } = loadText('a;'.repeat(500));
  let asked = 0;
  for (const { name } of tree!.directives)
    report.emerg('refused', name.span, () => ({ hint: `fault ${++asked}` }));
  expect(asked).toBe(101);
  expect(report.faults[99]!.hint).toBe('fault 100');
});

test('any number of warnings causes no refusal and hides no fault', () => {
  const { tree, report } = loadText('a;'.repeat(500));
  for (const { span } of tree!.directives) report.warn('odd', span);
  expect(report.failed).toBe(false);
  report.emerg('refused', tree!.directives[499]!.span);
  expect(report.faults.at(-1)!.message).toBe('refused');
});

test('command-line directives come first and may not open blocks', () => {
  const { tree, report } = loadText('a;', { globals: 'b; c { d; }' });
  expect(plain(tree!.directives)).toEqual([['b'], ['a']]);
  expect(report.faults).toMatchObject([
    {
      message: 'block directives are not supported in -g option',
      span: { source: { name: 'command line' }, start: 5 },
    },
  ]);
  expect(messages(loadText('', { globals: 'daemon off' }).report)).toEqual([
    'unexpected end of parameter, expecting ";"',
  ]);
});
