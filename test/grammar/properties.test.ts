import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type DirectiveNode, formatFaults, type Report, splitValue } from '../../grammar/index.ts';
import { loadText, plain, type Plain } from './load-text.ts';

const word = fc.string({
  unit: fc.oneof(fc.constantFrom(...' \t\r\n;{}"\'\\$#()abn'), fc.string({ unit: 'binary', maxLength: 1 })),
  maxLength: 12,
});

const { directives } = fc.letrec<{ directives: Plain[]; directive: Plain }>((tie) => ({
  directives: fc.array(tie('directive'), { maxLength: 4, depthIdentifier: 'blocks' }),
  directive: fc
    .tuple(
      word.filter((name) => name !== 'include'),
      fc.array(word, { maxLength: 3 }),
      fc.option(tie('directives'), { nil: undefined, depthIdentifier: 'blocks', maxDepth: 4 }),
    )
    .map(([name, args, block]): Plain => [name, ...args, ...(block ? [block] : [])]),
}));

function print(nodes: readonly Plain[], quote: (text: string) => string): string {
  const directive = (node: Plain): string => {
    const words = node.filter((part) => typeof part === 'string').map(quote);
    const block = node.find((part) => typeof part !== 'string');
    return words.join(' ') + (block ? `{${print(block, quote)}}` : ';');
  };
  return nodes.map(directive).join('');
}

const quotes = {
  double: (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`,
  single: (text: string) => `'${text.replace(/['\\]/g, '\\$&').replaceAll('\n', '\\n')}'`,
};

for (const [name, quote] of Object.entries(quotes)) {
  test(`a tree printed in ${name} quotes is read back unchanged`, () => {
    fc.assert(
      fc.property(directives, (tree) => {
        const loaded = loadText(print(tree, quote));
        expect(loaded.report.faults).toEqual([]);
        expect(plain(loaded.tree!.directives)).toEqual(tree);
      }),
    );
  });
}

/** Every fault has a place inside the text and prints without a raw control character. */
function expectPlaces(report: Report): void {
  for (const { span } of report.faults) {
    const { text } = span!.source;
    expect(span!.start).toBeGreaterThanOrEqual(0);
    expect(span!.end).toBeGreaterThanOrEqual(span!.start);
    expect(span!.end).toBeLessThanOrEqual(text.length);
  }
  // eslint-disable-next-line no-control-regex
  expect(formatFaults(report, { program: 'gw', color: false })).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
}

function splitAll(nodes: readonly DirectiveNode[], report: Report): void {
  for (const { args, block } of nodes) {
    for (const each of args) splitValue(each, report);
    if (block) splitAll(block, report);
  }
}

const pieces = fc.constantFrom(
  ...' \t\n;{}"\'\\$#)ab',
  '${env:A}',
  '${env:',
  '${file:',
  'listen',
  '\nserver ',
  'a_by_lua_block {',
  '--[[',
  '\0',
  '\u202e',
  '🎈',
  '\ud800',
);
const junk = fc.oneof(
  fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary' }),
);

test('any text is either read or refused at a place, and nothing throws', () => {
  fc.assert(
    fc.property(junk, (text) => {
      const { tree, report } = loadText(text, { env: { A: '$a{' } });
      if (tree) splitAll(tree.directives, report);
      else expect(report.failed).toBe(true);
      expectPlaces(report);
    }),
    { numRuns: 1000 },
  );
});

const sample = `http {\n  server {\n    listen 80;\n    location ~ "^/a{2}$" { return 200 "x \${env:A} \\" y"; }\n  }\n}\n`;

test('one character more or less in a valid text is read or refused at a place', () => {
  const position = fc.nat(sample.length);
  fc.assert(
    fc.property(position, fc.nat(2), pieces, (at, removed, added) => {
      const { report } = loadText(sample.slice(0, at) + added + sample.slice(at + removed), {
        env: { A: 'a' },
      });
      expectPlaces(report);
    }),
    { numRuns: 500 },
  );
});
