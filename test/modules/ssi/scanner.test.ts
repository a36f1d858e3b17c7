import { expect, test } from 'vitest';
import { type SsiPart, SsiScanner } from '../../../src/modules/ssi/scanner.ts';

/** The parts as one text: `[name a=1]` for a command, `!` for a fault. */
function shown(parts: readonly SsiPart[]): string {
  return parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      if (part.kind === 'fault') return '!';
      return `[${[part.name, ...part.parameters.map(([name, value]) => `${name}=${value}`)].join(' ')}]`;
    })
    .join('');
}

const pages: readonly (readonly [page: string, parts: string])[] = [
  ['plain <!-- comment --> <b>', 'plain <!-- comment --> <b>'],
  ['a<!--#echo var="x" -->b', 'a[echo var=x]b'],
  ['<!--#  ECHO\n VAR = "x"\tdefault=\'-->\'-->', '[echo var=x default=-->]'],
  ['<!--#set var="a" value="\\"-->\\"" -->', '[set var=a value=\\"-->\\"]'],
  ['<!--#else--><!--#endif-->', '[else][endif]'],
  ['<<!--#endif --><!-<!--#else -->', '<[endif]<!-[else]'],
  ['<!--#echo var=x -->y', '!y'],
  ['<!--#echo var -->y', '!y'],
  ['<!--#echo var="x"default="y" -->z', '[echo var=x default=y]z'],
  ['<!--#echo var="x" -- >-->z', '!z'],
  [`<!--#echo var="${'x'.repeat(300)}" -->z`, '!z'],
  [`<!--#${'x'.repeat(40)} -->z`, '!z'],
  [`<!--#echo ${'a="" '.repeat(20)}-->z`, '!z'],
  ['a<!--#echo var="x', 'a'],
  ['a<!--', 'a<!--'],
];

for (const [page, parts] of pages) {
  test(`the commands of ${JSON.stringify(page.slice(0, 60))} are found, wherever it is cut`, () => {
    for (let size = 1; size <= page.length; size++) {
      const scanner = new SsiScanner(256);
      let given = '';
      for (let at = 0; at < page.length; at += size) given += shown(scanner.take(page.slice(at, at + size)));
      expect(given + shown(scanner.take('', true))).toBe(parts);
    }
  });
}

test('a command without an end is not kept for ever', () => {
  const scanner = new SsiScanner(256);
  let bytes = shown(scanner.take('<!--#echo ')).length;
  for (let piece = 0; piece < 100; piece++) bytes += shown(scanner.take(' '.repeat(1_000))).length;
  expect(bytes).toBeGreaterThan(80_000);
});
