import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatFaults } from '../../grammar/index.ts';
import { type AnyRow, type Context, type DirectiveEntry, Registry } from '../../src/config/index.ts';
import { MODULES } from '../../src/modules/index.ts';
import { load } from '../../src/pipeline.ts';
import { perTier } from '../harness/tier.ts';

const registry = new Registry(MODULES);

const word = fc.oneof(
  fc.constantFrom(
    'on',
    'off',
    '1',
    '0',
    '-1',
    '8k',
    '5s',
    '1h30m',
    'auto',
    '404',
    '=200',
    '=',
    '200',
    '301',
    '/a',
    '/',
    '@n',
  ),
  fc.constantFrom(
    '~',
    '~*',
    '^~',
    '^/(a|b)$',
    '(?<x>a)',
    '(',
    '[z-a]',
    '*.a',
    'a.*',
    '.a',
    '~^(.+)$',
    '$x',
    '$nosuch',
    '"${uri}b"',
  ),
  fc.constantFrom(
    '127.0.0.1:80',
    '[::1]:80',
    'unix:/x',
    'default_server',
    'always',
    'combined',
    'if=$x',
    'buffer=1k',
    'x',
  ),
  fc.constantFrom(
    '"host=a password=b"',
    'redis://a',
    'postgres://a/b',
    'embedded',
    'get',
    'z',
    '64k',
    '""',
    '"a b"',
    "'\\n'",
    '${env:NO}',
  ),
  fc.string({ maxLength: 6 }).map((text) => JSON.stringify(text)),
);

/** Words that a reader with this syntax is likely to accept. */
const FITTING: readonly (readonly [RegExp, fc.Arbitrary<string>])[] = [
  [/^on \| off/, fc.constantFrom('on', 'off')],
  [/^size/, fc.constantFrom('8k', '1m', '512')],
  [/^time/, fc.constantFrom('5s', '500ms', '1h30m')],
  [/^number/, fc.constantFrom('1', '4', '16')],
  [/^name \.\.\./, fc.constantFrom('a.example', '*.a', 'b.*', '.c', '""', '~^(?<x>.+)$')],
  [/^\[ = \|/, fc.constantFrom('/', '/a', '/a/b', '=/a', '@n', '~^/(\\d+)$', '~*b$', '^~/c')],
  [/^code/, fc.constantFrom('200', '404', '301', '/a', '"$x $1"', '$arg_a')],
  [/^\$variable/, fc.constantFrom('$x', '$y', '"$host $x"', '$args')],
  [/^address/, fc.constantFrom('8080', '127.0.0.1:8081', '[::1]:8080', 'default_server')],
];

/** A directive of some row, mostly in a context that allows it, with words that mostly fit. */
function directive(context: Context, depth: number): fc.Arbitrary<string> {
  const legal = registry.entries.filter(({ row }) => row.contexts.includes(context));
  const acting = legal.filter(({ row }) => !('accepted' in row));
  const from = (entries: readonly DirectiveEntry[]) =>
    fc.constantFrom(...(entries.length > 0 ? entries : registry.entries));
  const entry = fc.oneof(
    { arbitrary: from(acting), weight: 20 },
    { arbitrary: from(legal), weight: 2 },
    { arbitrary: from(registry.entries), weight: 1 },
  );
  return entry.chain(({ name, row }) => {
    const { min, max, syntax } = 'data' in row ? { min: 0, max: 0, syntax: '' } : row.args;
    const fitting = FITTING.find(([pattern]) => pattern.test(syntax))?.[1] ?? word;
    const one = fc.oneof({ arbitrary: fitting, weight: 12 }, { arbitrary: word, weight: 1 });
    const right = fc.integer({ min, max: Math.min(max, min + 1) });
    const any = fc.integer({ min: Math.max(0, min - 1), max: min + 3 });
    const words = fc
      .oneof({ arbitrary: right, weight: 15 }, { arbitrary: any, weight: 1 })
      .chain((length) => fc.array(one, { minLength: length, maxLength: length }));
    return fc.tuple(words, body(row, depth)).map(([list, end]) => [name, ...list].join(' ') + end);
  });
}

function body(row: AnyRow, depth: number): fc.Arbitrary<string> {
  const simple = fc.constant(';\n');
  const odd = (usual: fc.Arbitrary<string>, other: fc.Arbitrary<string>) =>
    fc.oneof({ arbitrary: usual, weight: 20 }, { arbitrary: other, weight: 1 });
  if ('data' in row) return odd(fc.constant(' { text/a a; }\n'), simple);
  if (!('opens' in row)) return odd(simple, fc.constant(' { }\n'));
  const inside = depth > 4 ? fc.constant('') : block(row.opens, depth + 1);
  return odd(
    inside.map((text) => ` {\n${text}}\n`),
    simple,
  );
}

function block(context: Context, depth: number): fc.Arbitrary<string> {
  return fc
    .array(
      fc.constant(undefined).chain(() => directive(context, depth)),
      { maxLength: 6 },
    )
    .map((parts) => parts.join(''));
}

const http = block('http', 2).map((text) => `http {\n${text}}\n`);
const server = block('server', 3).map((text) => `http {\nserver {\n${text}}\n}\n`);

test('no configuration made of the rows crashes a load, and every refusal has a place and one line', () => {
  fc.assert(
    fc.property(fc.oneof(block('main', 1), http, server), (text) => {
      const { plan, report } = load(
        { confFile: '/etc/gw/gw.conf', name: 'gw.conf', prefix: '/etc/gw', text },
        { advise: true },
      );
      expect(plan === undefined).toBe(report.failed);
      for (const { message, span } of report.faults) {
        expect(span, message).toBeDefined();
        expect(message).toMatch(/^\S.*[^.\s]$/s);
      }
      expect(formatFaults(report, { program: 'gw', color: false })).not.toMatch(/undefined|\[object|NaN/);
      if (plan) expect(structuredClone(plan)).toEqual(plan);
    }),
    { numRuns: perTier({ short: 300, long: 3000 }) },
  );
});
