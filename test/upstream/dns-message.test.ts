import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readResponse } from '../../src/upstream/dns/message.ts';

const QUESTION = { name: 'a.test', type: 'A' } as const;
const query = { id: 0x1234, question: QUESTION };

/** The header and the question of a response with this number of records. */
const head = (count: number): Buffer =>
  Buffer.from([
    0x12,
    0x34,
    0x81,
    0x80,
    0,
    1,
    count >> 8,
    count & 255,
    0,
    0,
    0,
    0,
    1,
    0x61,
    4,
    0x74,
    0x65,
    0x73,
    0x74,
    0,
    0,
    1,
    0,
    1,
  ]);

const ADDRESS = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 1]);

test('a response has the records of its answer section', () => {
  expect(readResponse(Buffer.concat([head(1), ADDRESS]), query)).toEqual({
    code: 0,
    records: [{ type: 'A', owner: 'a.test', ttlSeconds: 60, address: '10.0.0.1' }],
  });
});

test('the sections behind the answers may hold anything', () => {
  const message = Buffer.concat([head(1), ADDRESS, Buffer.alloc(40, 0xff)]);
  message.writeUInt32BE(0xffff_ffff, 8);
  expect(readResponse(message, query)).toMatchObject({ records: [{ address: '10.0.0.1' }] });
});

test('no bytes behind a good question make the reader throw', () => {
  const bytes = fc.oneof(fc.uint8Array({ maxLength: 300 }), changedAddresses());
  fc.assert(
    fc.property(bytes, fc.integer({ min: 0, max: 0xffff }), (tail, count) => {
      const response = readResponse(Buffer.concat([head(count), tail]), query);
      expect(['undefined', 'object']).toContain(typeof response);
    }),
    { numRuns: 5000 },
  );
});

/** Good records of which some bytes are others. */
function changedAddresses(): fc.Arbitrary<Uint8Array> {
  const changes = fc.array(fc.tuple(fc.nat(ADDRESS.length * 8 - 1), fc.nat(255)), { maxLength: 8 });
  return changes.map((all) => {
    const bytes = Buffer.concat(Array.from({ length: 8 }, () => ADDRESS));
    for (const [at, value] of all) bytes[at] = value;
    return bytes;
  });
}

test('no bytes at all make the reader throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      expect(readResponse(Buffer.from(bytes), query)).toBeUndefined();
    }),
  );
});

test('long chains of pointers in the largest message over UDP cost little time', () => {
  // A record of an unknown type: a name without labels, then pointers that each lead to the one before.
  const pointers = Buffer.alloc(2000);
  const at = 24 + 11;
  for (let i = 2; i < pointers.length; i += 2) pointers.writeUInt16BE(0xc000 + at + i - 2, i);
  const chain = Buffer.concat([Buffer.from([0, 0, 99, 0, 1, 0, 0, 0, 0, 2000 >> 8, 2000 & 255]), pointers]);
  const last = at + pointers.length - 2;
  const record = Buffer.concat([Buffer.from([0xc0 | (last >> 8), last & 255]), ADDRESS.subarray(2)]);
  const message = Buffer.concat([head(121), chain, ...Array.from({ length: 120 }, () => record)]);
  const from = performance.now();
  expect(readResponse(message, query)).toMatchObject({ records: { length: 120 } });
  expect(performance.now() - from).toBeLessThan(200);
});
