import { expect, test } from 'vitest';
import { BodyBytes } from '../../src/worker/transport/request-body.ts';

const MIB = 1_048_576;
/** No piece is a multiple of its length, so neighbouring pieces of a body differ. */
const PATTERN = Buffer.from(Array.from({ length: 251 }, (_, i) => i));

const bodies: readonly [bytes: number, piece: number][] = [
  [0, 1],
  [1, 1],
  [5_000, 1],
  [MIB - 1, 65_536],
  [MIB, 65_536],
  [MIB + 1, 65_536],
  [2 * MIB + 7, 2 * MIB + 7],
  [5 * MIB + 3, 524_288],
];
test.each(bodies)('a body of %i bytes in pieces of %i comes out unchanged', (length, piece) => {
  const body = Buffer.alloc(length, PATTERN);
  for (const [announced, limit] of [
    [length, Infinity],
    [-1, Infinity],
    [-1, 3 * MIB],
    [-1, 0],
  ] as const) {
    const bytes = new BodyBytes(announced);
    bytes.limit(limit);
    for (let from = 0; from < length; from += piece) {
      const chunk = new Uint8Array(body.subarray(from, from + piece)).buffer;
      bytes.add(chunk);
      // As in uWebSockets.js, which reuses its memory.
      new Uint8Array(chunk).fill(255);
    }
    expect(bytes.length).toBe(length);
    expect(bytes.take().equals(body)).toBe(true);
  }
});

test('a body in chunks of one byte takes no more memory than another', () => {
  const bytes = new BodyBytes(-1);
  bytes.limit(MIB);
  const packet = Buffer.alloc(65_536, PATTERN);
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < MIB; at++) bytes.add(packet.subarray(at % 65_536, (at % 65_536) + 1));
  global.gc?.();
  const grownBytes = process.memoryUsage().heapUsed - before;
  expect(bytes.length).toBe(MIB);
  expect(grownBytes).toBeLessThan(60 * MIB);
});
