import { expect, test } from 'vitest';
import { loadText, plain } from './load-text.ts';

const cases = [
  { it: 'splits at blanks, tabs and line ends', text: 'a b\tc\r\nd;', is: [['a', 'b', 'c', 'd']] },
  {
    it: 'reads directives without a space between them',
    text: 'a;b{c;}d;',
    is: [['a'], ['b', [['c']]], ['d']],
  },
  { it: 'skips comments where a word could start', text: '# x\na #y;\nb;#z', is: [['a', 'b']] },
  { it: 'keeps a sharp inside a word', text: 'a b#c;', is: [['a', 'b#c']] },
  { it: 'skips a comment longer than a word may be', text: `#${'x'.repeat(9000)}\na;`, is: [['a']] },
  { it: 'removes quotes of either kind', text: `a "b c" 'd "e"' "";`, is: [['a', 'b c', 'd "e"', '']] },
  { it: 'keeps quotes inside a bare word', text: `a b"c'd;`, is: [['a', `b"c'd`]] },
  { it: 'keeps braces, sharps and semicolons in quotes', text: 'a "{};#";', is: [['a', '{};#']] },
  { it: 'lets a quoted word span lines', text: 'a "b\nc";', is: [['a', 'b\nc']] },
  {
    it: 'starts a new word at a bracket after a quote',
    text: 'if ($a = "b") {}',
    is: [['if', '($a', '=', 'b', ')', []]],
  },
  { it: 'ends a word at an opening brace', text: 'a b{}', is: [['a', 'b', []]] },
  { it: 'does not end a word at a closing brace', text: 'a b}c;', is: [['a', 'b}c']] },
  { it: 'closes a block before a word that follows without a blank', text: 'a{}b;', is: [['a', []], ['b']] },
  { it: 'does not open a block after a dollar', text: 'a x${b}c $${{d;', is: [['a', 'x${b}c', '$${{d']] },
  { it: 'opens a block after an escaped dollar', text: 'a \\${}', is: [['a', '\\$', []]] },
  { it: 'drops the backslash before quotes and itself', text: `a \\" "\\'\\\\";`, is: [['a', '"', `'\\`]] },
  { it: 'makes control characters', text: 'a \\t "\\r\\n";', is: [['a', '\t', '\r\n']] },
  { it: 'keeps both characters of any other pair', text: 'a \\.\\d "\\;";', is: [['a', '\\.\\d', '\\;']] },
  { it: 'hides an end of word behind a backslash', text: 'a b\\ c\\;d\\{e;', is: [['a', 'b\\ c\\;d\\{e']] },
  { it: 'accepts a byte order mark', text: '\uFEFFa;', is: [['a']] },
  { it: 'accepts text of any script', text: 'a größe "日本" 🎈;', is: [['a', 'größe', '日本', '🎈']] },
  { it: 'accepts an empty text', text: '', is: [] },
  {
    it: 'accepts 4095 bytes in one word',
    text: `a ${'é'.repeat(2047)}x;`,
    is: [['a', `${'é'.repeat(2047)}x`]],
  },
  {
    it: 'accepts arguments on lines of their own',
    text: 'index a\n  root\n  b;',
    is: [['index', 'a', 'root', 'b']],
  },
];

for (const { it, text, is } of cases) {
  test(`the lexer ${it}`, () => {
    const { tree, report } = loadText(text);
    expect(report.faults).toEqual([]);
    expect(plain(tree!.directives)).toEqual(is);
  });
}

test('spans cover the words as they are written and the directives to their ends', () => {
  const text = 'a "b\\"" {\r\n  c é;\n} # d';
  const [block] = loadText(text).tree!.directives;
  const written = (span: { start: number; end: number }): string => text.slice(span.start, span.end);
  expect(written(block!.span)).toBe('a "b\\"" {\r\n  c é;\n}');
  expect(written(block!.args[0]!.span)).toBe('"b\\""');
  expect(written(block!.block![0]!.span)).toBe('c é;');
  expect(written(block!.block![0]!.args[0]!.span)).toBe('é');
});

test('every character but a delimiter starts a word', () => {
  const characters = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
  const starts = characters.filter((character) => !' \t\r\n;{}#"\'\\\uFEFF'.includes(character));
  const { tree, report } = loadText(`${starts.join(';')};`);
  expect(report.faults).toEqual([]);
  expect(tree!.directives.map((node) => node.name.value)).toEqual(starts);
});
