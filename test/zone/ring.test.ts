import { describe, expect, test } from 'vitest';
import { EVENT_LIMITS, createZone, openRing, ringBytes } from '../../src/zone/index.ts';

const ringOf = (capacity: number) => {
  const buffer = createZone({ name: 'bus', kind: 'ring', capacity });
  return { buffer, ring: openRing(buffer, 1) };
};
const event = (payload?: string | null) => ({ channel: 'c', type: 't', payload });

describe('the memory layout', () => {
  test('a new ring is a header of 192 bytes and 704 bytes per entry', () => {
    const { buffer } = ringOf(16);
    expect(buffer.byteLength).toBe(192 + 16 * 704);
    expect(ringBytes(16)).toBe(buffer.byteLength);
    const words = new Uint32Array(buffer);
    expect(words.slice(1, 6)).toEqual(Uint32Array.of(2, 16, 704, 0, 0));
    expect([...new Float64Array(buffer, 32, 4)]).toEqual([1, 1, 0, 0]);
    expect([...new Float64Array(buffer, 80, 2)]).toEqual([0, 0]);
  });

  test('an entry has the specified layout in its slot', () => {
    const { buffer, ring } = ringOf(4);
    const before = Date.now();
    ring.publish({ channel: 'cache', type: 'purged', payload: 'größe' });
    const slot = Buffer.from(buffer, 192, 704);
    expect(slot.readInt32LE(0)).toBe(2);
    expect(slot.readDoubleLE(8)).toBe(1);
    expect(slot.readDoubleLE(16)).toBeGreaterThanOrEqual(before);
    expect([slot.readUInt16LE(24), slot.readUInt16LE(26), slot.readUInt32LE(28)]).toEqual([5, 6, 7]);
    expect([slot.toString('utf8', 40, 45), slot.toString('utf8', 104, 110)]).toEqual(['cache', 'purged']);
    expect(slot.toString('utf8', 168, 175)).toBe('größe');
    expect(slot.readUInt32LE(4)).toBe(fnv1a(slot, [8, 16], [24, 32], [40, 45], [104, 110], [168, 175]));
  });

  test('memory without a ring is refused', () => {
    expect(() => openRing(new SharedArrayBuffer(1024), 1)).toThrow('does not hold a ring');
  });

  for (const threadId of [-1, 512, 1.5]) {
    test(`thread id ${threadId} is refused`, () => {
      expect(() => openRing(ringOf(1).buffer, threadId)).toThrow(RangeError);
    });
  }
});

describe('publish', () => {
  test('the ring starts empty', () => {
    const { ring } = ringOf(8);
    expect(ring.snapshot()).toEqual({
      capacity: 8,
      oldestGeneration: 0,
      newestGeneration: 0,
      droppedEvents: 0,
      lastPublishMs: 0,
      entries: [],
    });
  });

  test('the oldest entry is dropped when the ring is full, and is counted', () => {
    const { ring } = ringOf(3);
    const results = [0, 1, 2, 3, 4].map((n) => ring.publish(event(`p${n}`)));
    expect(results.map((r) => r?.generation)).toEqual([1, 2, 3, 4, 5]);
    expect(results.map((r) => r?.evicted)).toEqual([false, false, false, true, true]);
    const snapshot = ring.snapshot();
    expect(snapshot).toMatchObject({ oldestGeneration: 3, newestGeneration: 5, droppedEvents: 2 });
    expect(snapshot?.entries.map((e) => e.payload)).toEqual(['p2', 'p3', 'p4']);
    expect(snapshot?.lastPublishMs).toBe(snapshot?.entries.at(-1)?.timestampMs);
  });

  test('no payload, null and an empty payload stay distinct', () => {
    const { ring } = ringOf(3);
    ring.publish({ channel: 'c', type: 't' });
    ring.publish(event(null));
    ring.publish(event(''));
    expect(ring.snapshot()?.entries.map((e) => e.payload)).toEqual([null, null, '']);
  });

  test('the limits are those of the specification', () => {
    expect(EVENT_LIMITS).toEqual({ channelBytes: 64, typeBytes: 64, payloadBytes: 512 });
  });
});

describe('the texts of an event', () => {
  const texts = [
    { it: 'a channel of 64 bytes', event: { channel: 'c'.repeat(64), type: 't' } },
    { it: 'a type of 64 bytes in UTF-8', event: { channel: 'c', type: 'é'.repeat(32) } },
    { it: 'a payload of 512 bytes in UTF-8', event: { channel: 'c', type: 't', payload: '😀'.repeat(128) } },
    { it: 'a payload with NUL and line ends', event: { channel: 'c', type: 't', payload: 'a\0b\r\nc' } },
  ];
  for (const { it, event: wanted } of texts) {
    test(`${it} is read back unchanged`, () => {
      const { ring } = ringOf(2);
      ring.publish(wanted);
      expect(ring.snapshot()?.entries[0]).toMatchObject(wanted);
      expect(ring.read(1)).toMatchObject(wanted);
    });
  }

  const tooLong = [
    { it: 'a channel of 65 bytes', event: { channel: 'c'.repeat(65), type: 't' } },
    { it: 'a type of 66 bytes in UTF-8', event: { channel: 'c', type: 'é'.repeat(33) } },
    { it: 'a payload of 513 bytes', event: { channel: 'c', type: 't', payload: 'p'.repeat(513) } },
    { it: 'an empty channel', event: { channel: '', type: 't' } },
    { it: 'an empty type', event: { channel: 'c', type: '' } },
  ];
  for (const { it, event: refused } of tooLong) {
    test(`${it} is refused and changes nothing`, () => {
      const { ring } = ringOf(2);
      expect(() => ring.publish(refused)).toThrow(RangeError);
      expect(ring.publish(event())?.generation).toBe(1);
    });
  }
});

describe('read', () => {
  const { ring } = ringOf(2);
  for (let n = 1; n <= 3; n++) ring.publish(event(String(n)));
  const cases = [
    { it: 'gives an entry of the ring', generation: 3, payload: '3' },
    { it: 'gives nothing for an overwritten entry', generation: 1, payload: undefined },
    { it: 'gives nothing for a future generation', generation: 4, payload: undefined },
  ];
  for (const { it, generation, payload } of cases) {
    test(it, () => expect(ring.read(generation)?.payload).toBe(payload));
  }

  test('gives nothing while an entry is being written, and nothing that is torn', () => {
    const { buffer, ring: torn } = ringOf(1);
    torn.publish(event('whole'));
    Atomics.or(new Int32Array(buffer), 192 / 4, 1);
    expect(torn.read(1)).toBeUndefined();
    Atomics.add(new Int32Array(buffer), 192 / 4, 1);
    expect(torn.read(1)?.payload).toBe('whole');
    Buffer.from(buffer).write('x', 192 + 168);
    expect(torn.read(1)).toBeUndefined();
  });
});

describe('snapshot', () => {
  const { ring } = ringOf(100);
  for (let n = 1; n <= 250; n++)
    ring.publish({ channel: n % 2 ? 'odd' : 'even', type: n % 5 ? 't' : 'five' });
  const generations = (query: object) => ring.snapshot(query)?.entries.map((e) => e.generation);
  const cases = [
    { it: 'everything by default', query: {}, expected: Array.from({ length: 100 }, (_, i) => i + 151) },
    { it: 'what is newer than since', query: { since: 247 }, expected: [248, 249, 250] },
    { it: 'nothing newer than the newest', query: { since: 250 }, expected: [] },
    { it: 'nothing for a since far beyond', query: { since: 1e300 }, expected: [] },
    { it: 'the oldest first up to the limit', query: { since: 10, limit: 2 }, expected: [151, 152] },
    { it: 'nothing for a limit of 0', query: { limit: 0 }, expected: [] },
    { it: 'one channel', query: { channel: 'odd', since: 246 }, expected: [247, 249] },
    { it: 'one type', query: { type: 'five', since: 239 }, expected: [240, 245, 250] },
    {
      it: 'channel and type, limited',
      query: { channel: 'even', type: 'five', limit: 2 },
      expected: [160, 170],
    },
    { it: 'nothing for a prefix of a channel', query: { channel: 'od' }, expected: [] },
  ];
  for (const { it, query, expected } of cases) {
    test(`shows ${it}`, () => expect(generations(query)).toEqual(expected));
  }
});

/** FNV-1a as its authors describe it, in big integers. */
function fnv1a(bytes: Buffer, ...ranges: [from: number, to: number][]): number {
  let hash = 0x811c9dc5n;
  for (const [from, to] of ranges) {
    for (const byte of bytes.subarray(from, to)) hash = ((hash ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn;
  }
  return Number(hash);
}
