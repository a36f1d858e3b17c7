import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkSyntax, formatConfig, minifyConfig, type Piece, piecesOf } from '../../grammar/index.ts';

const format = (text: string): string => formatConfig({ name: 'gw.conf', text }, { indent: '    ' });
const minify = (text: string): string => minifyConfig({ name: 'gw.conf', text });

const cases = [
  { it: 'gives each directive a line', from: 'a 1;b 2;', to: 'a 1;\nb 2;\n' },
  {
    it: 'indents blocks',
    from: 'http{server{listen 80;}}',
    to: 'http {\n    server {\n        listen 80;\n    }\n}\n',
  },
  { it: 'leaves an empty block on one line', from: 'events\n{\n\n}', to: 'events {}\n' },
  { it: 'keeps one blank line of several', from: 'a;\n\n\n\nb;', to: 'a;\n\nb;\n' },
  { it: 'drops blank lines at the edges of a block', from: 'h {\n\n\na;\n\n}', to: 'h {\n    a;\n}\n' },
  { it: 'keeps a comment on its line', from: 'a;   # why\nb;', to: 'a; # why\nb;\n' },
  { it: 'indents a comment of its own line', from: 'h {\n# why\na;\n}', to: 'h {\n    # why\n    a;\n}\n' },
  {
    it: 'keeps a comment behind a brace',
    from: 'h { # why\na; } # done',
    to: 'h { # why\n    a;\n} # done\n',
  },
  { it: 'keeps words on lines of their own', from: "f x 'a'\n 'b'\n;", to: "f x 'a'\n    'b';\n" },
  { it: 'keeps a comment between words', from: 'f x # why\n y;', to: 'f x # why\n    y;\n' },
  { it: 'leaves words as they are written', from: `a  "x  y"   'z' \\.php$;`, to: `a "x  y" 'z' \\.php$;\n` },
  {
    it: 'adds no blank before a closing bracket',
    from: 'if ("$a" = "b"){c;}',
    to: 'if ("$a" = "b") {\n    c;\n}\n',
  },
  { it: 'removes carriage returns', from: 'a;\r\nb;\r\n', to: 'a;\nb;\n' },
  { it: 'gives an empty text for blank lines', from: '\n\n', to: '' },
];

for (const { it, from, to } of cases) {
  test(`formatting ${it}`, () => {
    expect(format(from)).toBe(to);
    expect(format(to)).toBe(to);
  });
}

test('minifying keeps the blanks and quotes that words need', () => {
  const text = 'a  b; # why\nlocation ~ x$ { return 200 "a  b"; }\nif ("$a" = b) { c; }';
  expect(minify(text)).toBe('a b;location ~ x$ {return 200 "a  b";}if ("$a" = b){c;}');
});

const image = fc.oneof(
  fc.stringMatching(/^[a-z$./^(){}]{1,6}$/).filter((word) => !/^[})]|(?:^|[^$])\{/.test(word)),
  fc.stringMatching(/^[a-z {};#]{0,6}$/).map((text) => `"${text}"`),
);
const gap = fc.constantFrom(' ', '  ', '\n', '\n\n\n', ' # why\n', '\t');
const { config } = fc.letrec<{ config: string; statement: string }>((tie) => ({
  config: fc.array(tie('statement'), { maxLength: 4, depthIdentifier: 'blocks' }).map((all) => all.join('')),
  statement: fc
    .tuple(
      fc.array(fc.tuple(image, gap), { minLength: 1, maxLength: 4 }),
      fc.option(tie('config'), { nil: undefined, depthIdentifier: 'blocks', maxDepth: 3 }),
      gap,
    )
    .map(([words, block, after]) => {
      const text = words.map(([word, space]) => word + space).join('');
      return block === undefined ? `${text};${after}` : `${text}{${after}${block}}${after}`;
    }),
}));

const meaning = (text: string): readonly string[] =>
  piecesOf({ name: '', text })
    .filter(({ kind }) => kind !== 'comment')
    .map((piece: Piece) => piece.image);

test('formatting is stable and, like minifying, changes no word', () => {
  fc.assert(
    fc.property(config, (text) => {
      fc.pre(!checkSyntax({ name: '', text }).failed);
      const formatted = format(text);
      expect(format(formatted)).toBe(formatted);
      expect(meaning(formatted)).toEqual(meaning(text));
      expect(meaning(minify(text))).toEqual(meaning(text));
    }),
  );
});

const conf = fileURLToPath(new URL('../../conf/', import.meta.url));
const files = readdirSync(conf, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.conf'),
);

test('there are configurations to format', () => expect(files.length).toBeGreaterThan(5));

for (const file of files) {
  test(`${file} is already formatted`, () => {
    const text = readFileSync(conf + file, 'utf8');
    expect(formatConfig({ name: file, text }, { indent: text.includes('\n    ') ? '    ' : '  ' })).toBe(
      text,
    );
  });
}
