import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type BodyReader,
  ChunkedReader,
  CloseReader,
  LengthReader,
} from '../../../src/modules/proxy/client/body-reader.ts';

/** Reads `text` in pieces of the given lengths; gives the body and what is left over. */
function readIn(
  reader: BodyReader,
  text: string,
  lengths: readonly number[],
): { body: string; rest: string } {
  let body = '';
  let at = 0;
  const sizes = [...lengths, Infinity];
  while (at < text.length && !reader.complete) {
    const size = Math.max(1, sizes.shift() ?? Infinity);
    const piece = Buffer.from(text.slice(at, at + size), 'latin1');
    at += reader.read(piece, 0, (bytes) => (body += bytes.toString('latin1')));
  }
  return { body, rest: text.slice(at) };
}

test('chunks come out as one body, however they are cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }), { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 200 }),
      (chunks, cuts) => {
        const encoded = chunks.map((chunk) => `${chunk.length.toString(16)};x=y\r\n${chunk}\r\n`).join('');
        const reader = new ChunkedReader();
        const read = readIn(reader, `${encoded}0\r\nX-T: 1\r\n\r\nnext`, cuts);
        // What came in one piece with the end may already belong to the next answer, and stays unread.
        expect(read).toEqual({ body: chunks.join(''), rest: 'next' });
        expect(reader.trailers).toEqual(['X-T', '1']);
      },
    ),
  );
});

const broken = {
  'a size that is no number': 'zz\r\nx\r\n',
  'a size with a sign': '+5\r\nfirst\r\n',
  'a size with a prefix': '0x5\r\nfirst\r\n',
  'no size': '\r\nfirst\r\n',
  'a size beyond any body': 'ffffffffffffffff\r\n',
  'a bare line feed': '5\nfirst\n',
  'a chunk longer than its size': '3\r\nfirst\r\n',
  'a chunk without its line end': '5\r\nfirst5\r\n',
  'a trailer without a colon': '0\r\nbroken\r\n\r\n',
  'a line without an end': `5;${'a'.repeat(5000)}`,
};

for (const [it, text] of Object.entries(broken)) {
  test(`a chunked body with ${it} is refused`, () => {
    expect(() => readIn(new ChunkedReader(), text, [])).toThrow(
      'invalid chunked response while reading upstream',
    );
  });
}

test('a body of known length leaves what follows it', () => {
  expect(readIn(new LengthReader(4), 'bodynext', [1, 2])).toEqual({ body: 'body', rest: 'next' });
});

test('a body until the close is never complete by itself', () => {
  const reader = new CloseReader();
  expect(readIn(reader, 'all', [])).toEqual({ body: 'all', rest: '' });
  expect(reader.complete).toBe(false);
});
