import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scanJson } from '../../../src/modules/dbrest/request/index.ts';
import { faultOf } from './pipeline.ts';

const turn = (): Promise<void> => Promise.resolve();
const scan = (text: string) => scanJson(Buffer.from(text), 'same', turn);

const shapes: [text: string, kind: string, keys: string[]][] = [
  ['{}', 'object', []],
  ['[]', 'array', []],
  ['[{}]', 'array', []],
  ['[{},{}]', 'array', []],
  [' \t\r\n{ "a" : 1 , "b":[{"x":1},{"y":2}] } ', 'object', ['a', 'b']],
  ['[{"a":1,"b":2},{"b":3,"a":4}]', 'array', ['a', 'b']],
  ['[{"a":1,"a":2},{"a":3}]', 'array', ['a']],
  ['[{"a":1},{"a":2,"a":3}]', 'array', ['a']],
  ['[{"a":{"c":1}},{"a":{"d":1}}]', 'array', ['a']],
  ['{"\\u0061\\n":1}', 'object', ['a\n']],
  ['[{"a":1},{"\\u0061":2}]', 'array', ['a']],
  ['{"ä€😀":1}', 'object', ['ä€😀']],
  ['{"__proto__":1,"constructor":2}', 'object', ['__proto__', 'constructor']],
  ['"text"', 'scalar', []],
  ['-0.1e+5', 'scalar', []],
  ['null', 'scalar', []],
];
test.each(shapes)('%j is an %s with the members %j', async (text, kind, keys) => {
  const several = { isSeveral: kind === 'array' && (JSON.parse(text) as unknown[]).length > 1 };
  expect({ isSeveral: false, ...(await scan(text)) }).toEqual({ kind, keys, ...several });
});

const refused: [text: string, message: string][] = [
  ['[{"a":1},{"b":1}]', 'All object keys must match'],
  ['[{"a":1},{}]', 'All object keys must match'],
  ['[{},{"a":1}]', 'All object keys must match'],
  ['[{"a":1},{"a":1,"b":2}]', 'All object keys must match'],
  ['[{"a":1,"b":2},{"a":1,"a":2}]', 'All object keys must match'],
  ['[{"a":1},1]', 'All object keys must match'],
  ['["a"]', 'All object keys must match'],
  ['[[{"a":1}]]', 'All object keys must match'],
  ['[null]', 'All object keys must match'],
  ['\ufeff{}', 'Empty or invalid json'],
  [`{"${'a'.repeat(379)}":1}`, 'Request exceeds a limit: a name has at most 63 bytes'],
  [`${'['.repeat(1_001)}`, 'Request exceeds a limit: JSON nests at most 1000 deep'],
  [`[${'1'.repeat(150_001)}]`, 'All object keys must match'],
  [`{"a":${'1'.repeat(150_001)}}`, 'Request exceeds a limit: a number has at most 150000 digits'],
];
test.each(refused)('%.40j is refused', async (text, message) => {
  const fault = await faultOf(() =>
    scanJson(Buffer.from(text), text.startsWith('[[[') ? 'any' : 'same', turn),
  );
  expect(fault).toMatchObject({ status: 400, message });
});

test('more members than a table has columns are refused', async () => {
  const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"c${i}":1`).join()}}`;
  expect((await scan(members(1_600))).keys).toHaveLength(1_600);
  expect(await faultOf(() => scan(members(1_601)))).toMatchObject({ status: 400 });
});

/** JSON, and JSON with some characters removed, doubled or replaced. */
const broken = fc
  .tuple(
    fc.json(),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom(
          '',
          '{',
          '}',
          '[',
          ']',
          ',',
          ':',
          '"',
          '\\',
          '0',
          '-',
          'e',
          '.',
          ' ',
          '\n',
          '\u0001',
          'null',
        ),
      ),
    ),
  )
  .map(([text, edits]) =>
    edits.reduce((now, [place, put]) => {
      const at = place % (now.length + 1);
      return now.slice(0, at) + put + now.slice(at + (place % 2));
    }, text),
  );

test('the scanner accepts a text exactly when JSON.parse does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), fc.json(), broken), async (text) => {
      const isJson = await scanJson(Buffer.from(text), 'any', turn).then(
        () => true,
        () => false,
      );
      expect(isJson).toBe(parses(text));
    }),
    { numRuns: 3_000 },
  );
});

test('the border between two pieces of a large text may lie anywhere in it', async () => {
  const text = '[{"a":"\\u00e4\\n\\"ä€😀","b":-12.5e+10},{"b":null,"a":true}]';
  for (let before = 0; before <= text.length; before += 1) {
    const padded = ' '.repeat(262_144 - before) + text;
    expect(await scan(padded)).toMatchObject({ kind: 'array', keys: ['a', 'b'] });
    await expect(scan(padded.slice(0, -1))).rejects.toThrow('Empty or invalid json');
  }
});

test('the members that the scanner finds are those of JSON.parse', async () => {
  const objects = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(objects, async (rows) => {
      const names = rows.map((row) => Object.keys(row).toSorted());
      const same = names.every((list) => JSON.stringify(list) === JSON.stringify(names[0]));
      const found = await scan(JSON.stringify(rows)).then(
        ({ keys }) => keys.toSorted(),
        () => 'refused',
      );
      expect(found).toEqual(same ? (names[0] ?? []) : 'refused');
    }),
  );
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
