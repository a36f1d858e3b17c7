import fc from 'fast-check';
import { expect, test } from 'vitest';
import { headEnd, headerLine, headerLines, readHeaderLines } from '../../src/http1/index.ts';
import { bytesOf, EVERY_BYTE } from './cuts.ts';

/** Where a head ends for a reader that looks each time that bytes have arrived. */
function endIn(text: string, sizes: readonly number[]): number {
  const left = [...sizes];
  let searched = 0;
  for (let at = 0; at < text.length;) {
    at += left.shift() ?? 1;
    const end = headEnd(bytesOf(text.slice(0, at)), Math.max(0, searched - 2));
    if (end >= 0) return end;
    searched = Math.min(at, text.length);
  }
  return -1;
}

const ends: readonly (readonly [text: string, length: number])[] = [
  ['HTTP/1.1 200 OK\r\n\r\nrest', 19],
  ['HTTP/1.1 200 OK\n\nrest\r\n\r\n', 17],
  ['HTTP/1.1 200 OK\n\r\nrest', 18],
  ['HTTP/1.1 200 OK\r\n\nrest', 18],
  // The second empty line is the first byte of what follows.
  ['HTTP/1.1 200 OK\n\n\r\nrest', 17],
  ['HTTP/1.1 200 OK\r\n\n\r\nrest', 18],
  ['HTTP/1.1 200 OK\r\nA: 1\r\n', -1],
  ['HTTP/1.1 200 OK\r\nA: 1\r\n\r', -1],
  ['HTTP/1.1 200 OK\r\r\n\r\r\n', -1],
  ['HTTP/1.1 200 OK\r\r', -1],
];

test.each(ends)('the head of %j ends at %i, wherever it is cut', (text, length) => {
  expect(headEnd(bytesOf(text), 0)).toBe(length);
  expect(endIn(text, [])).toBe(length);
  for (let first = 1; first < text.length; first++) expect(endIn(text, [first, text.length])).toBe(length);
});

test('a head ends at the same place, however it is divided into packets', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\r', '\n', ':'), maxLength: 30 });
  const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 30 });
  fc.assert(
    fc.property(text, sizes, (head, cuts) => {
      expect(endIn(head, cuts)).toBe(headEnd(bytesOf(head), 0));
    }),
    { numRuns: 2000 },
  );
});

/** The result for header lines: name, value, …, and the line that is invalid. */
function read(text: string, takesBareNames = false): { fields: string[]; refused: string | undefined } {
  const fields: string[] = [];
  const refused = readHeaderLines(text, 0, {
    takesBareNames,
    field: (name, value) => {
      fields.push(name, value);
      return value !== 'refuse';
    },
  });
  return { fields, refused };
}

const lines: readonly { it: string; text: string; fields: readonly string[]; refused?: string }[] = [
  { it: 'names and values', text: 'A: 1\r\nb:2\n\r\n', fields: ['A', '1', 'b', '2'] },
  {
    it: 'values without the blanks around them',
    text: 'A: \t 1 2\t \r\nB:\r\n\r\n',
    fields: ['A', '1 2', 'B', ''],
  },
  { it: 'the first colon as the end of a name', text: 'A:b:c\r\n\r\n', fields: ['A', 'b:c'] },
  { it: 'nothing behind the empty line', text: 'A: 1\r\n\r\nB: 2\r\n\r\n', fields: ['A', '1'] },
  { it: 'no folded line', text: 'A: 1\r\n folded\r\n\r\n', fields: ['A', '1'], refused: ' folded' },
  { it: 'no line folded by a tab', text: 'A: 1\r\n\tB: 2\r\n\r\n', fields: ['A', '1'], refused: '\tB: 2' },
  { it: 'no blank before a colon', text: 'A : 1\r\n\r\n', fields: [], refused: 'A : 1' },
  { it: 'no line without a name', text: ': 1\r\n\r\n', fields: [], refused: ': 1' },
  { it: 'no CR in a name', text: 'A\r: 1\r\n\r\n', fields: [], refused: 'A\r: 1' },
  {
    it: 'no more lines behind one that is refused',
    text: 'A: refuse\r\nB: 2\r\n\r\n',
    fields: ['A', 'refuse'],
    refused: 'A: refuse',
  },
];

for (const { it, text, fields, refused } of lines) {
  test(`header lines give ${it}`, () => {
    for (const takesBareNames of [false, true])
      expect(read(text, takesBareNames)).toEqual({ fields, refused });
  });
}

test('a line without a colon is a name for readers that accept such names', () => {
  expect(read('A: 1\r\nbare\r\n\r\n')).toEqual({ fields: ['A', '1'], refused: 'bare' });
  expect(read('A: 1\r\nbare\r\n\r\n', true)).toEqual({ fields: ['A', '1', 'bare', ''], refused: undefined });
  expect(read('A: 1\r\nb are\r\n\r\n', true)).toEqual({ fields: ['A', '1'], refused: 'b are' });
});

test('every byte is accepted or refused in a name, at its beginning and its end', () => {
  const isTaken = (byte: string): boolean => /[\x21-\x7e\x80-\xff]/.test(byte);
  for (const byte of EVERY_BYTE.filter((each) => each !== ':' && each !== '\n')) {
    for (const name of [`${byte}a`, `a${byte}b`, `a${byte}`]) {
      const line = `${name}: 1`;
      const expected = isTaken(byte)
        ? { fields: [name, '1'], refused: undefined }
        : { fields: [], refused: line };
      expect(read(`${line}\r\n\r\n`), JSON.stringify(line)).toEqual(expected);
    }
  }
});

test('every byte of a value is passed on for a later check', () => {
  for (const byte of EVERY_BYTE.filter((each) => !' \t\n'.includes(each))) {
    expect(read(`a:${byte}b${byte}\r\n\r\n`).fields, JSON.stringify(byte)).toEqual(['a', `${byte}b${byte}`]);
  }
});

test('headers that are written are read back unchanged', () => {
  const fields = ['A', '1', 'b', '', 'C', 'd:e'];
  expect(headerLines(fields)).toBe('A: 1\r\nb: \r\nC: d:e\r\n');
  expect(headerLine('A', 1) + headerLine('b', '')).toBe('A: 1\r\nb: \r\n');
  expect(read(`${headerLines(fields)}\r\n`).fields).toEqual(fields);
});
