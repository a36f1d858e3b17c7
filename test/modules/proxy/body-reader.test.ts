import { expect, test } from 'vitest';
import { type BodyReader, CloseReader, LengthReader } from '../../../src/client/index.ts';

/** Reads `text` in pieces of the given lengths. Returns the body and the bytes after it. */
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

test('a body of known length leaves the bytes that follow it', () => {
  expect(readIn(new LengthReader(4), 'bodynext', [1, 2])).toEqual({ body: 'body', rest: 'next' });
});

test('a body until the close is never complete by itself', () => {
  const reader = new CloseReader();
  expect(readIn(reader, 'all', [])).toEqual({ body: 'all', rest: '' });
  expect(reader.complete).toBe(false);
});
