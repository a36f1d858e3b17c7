import { describe, expect, test } from 'vitest';
import {
  createZone,
  keepsZone,
  markDead,
  openRing,
  type RingDeclaration,
  zoneBytes,
  zoneConflict,
  zoneFault,
  zoneIdentity,
} from '../../src/zone/index.ts';
import { memoryOf } from '../../src/zone/header.ts';
import { takeSnapshot } from '../../src/zone/ring/snapshot.ts';

const zone = (capacity: number, more: Partial<RingDeclaration> = {}): RingDeclaration => ({
  name: 'bus',
  kind: 'ring',
  capacity,
  ...more,
});

describe('declaration', () => {
  const faults = [
    { declared: zone(16), fault: undefined },
    { declared: zone(16, { sizeBytes: 11_456 }), fault: undefined },
    {
      declared: zone(16, { sizeBytes: 11_455 }),
      fault: 'zone "bus" is too small: a ring of 16 entries needs 11456 bytes, 11455 given',
    },
    {
      declared: zone(1, { sizeBytes: 0 }),
      fault: 'zone "bus" is too small: a ring of 1 entry needs 896 bytes, 0 given',
    },
    { declared: zone(381_300), fault: undefined },
    {
      declared: zone(381_301),
      fault:
        'zone "bus" is too large: a ring of 381301 entries needs 268436096 bytes, at most 268435456 are allowed',
    },
  ];
  for (const { declared, fault } of faults) {
    test(`a ring of ${declared.capacity} in ${declared.sizeBytes ?? 'any'} bytes: ${fault ?? 'fits'}`, () => {
      expect(zoneFault(declared)).toBe(fault);
    });
  }

  test('two sizes of one zone conflict, and the later one is reported', () => {
    expect(zoneConflict(zone(64), zone(16))).toBe(
      'ring size 64 of zone "bus" conflicts with already declared size 16',
    );
    expect(zoneConflict(zone(16, { sizeBytes: 20_000 }), zone(16))).toBeUndefined();
    expect(zoneConflict(zone(64), zone(16, { name: 'other' }))).toBeUndefined();
  });
});

describe('a reload', () => {
  const buffer = createZone(zone(16));
  test('keeps the memory of a ring of the same size', () => {
    expect(keepsZone(buffer, zone(16, { sizeBytes: 20_000 }))).toBe(true);
    expect(keepsZone(buffer, zone(17))).toBe(false);
    expect(buffer.byteLength).toBe(zoneBytes(zone(16)));
  });

  test('can tell a zone from a later one of the same name and size', () => {
    expect(zoneIdentity(buffer)).toMatch(/^[0-9a-f]{16}$/);
    expect(zoneIdentity(buffer)).not.toBe(zoneIdentity(createZone(zone(16))));
  });
});

test('each thread has an alive flag of its own, ids 0 to 15 a whole word', () => {
  const buffer = createZone(zone(1));
  const flags = new Int32Array(buffer, 128, 16);
  expect([...flags]).toEqual([1, ...Array<number>(15).fill(0)]);
  for (let id = 1; id <= 511; id++) openRing(buffer, id);
  expect([...flags]).toEqual(Array<number>(16).fill(-1));
  for (let id = 1; id <= 511; id++) if (id !== 3) markDead(buffer, id);
  expect([...flags]).toEqual([1, 0, 0, 1, ...Array<number>(12).fill(0)]);
});

describe('a snapshot in several chunks', () => {
  /** A reader that misses this many events each time it releases the lock. */
  const hurried = (capacity: number, eventsPerRelease: number) => {
    const buffer = createZone(zone(capacity));
    const ring = openRing(buffer, 1);
    const publish = () => void ring.publish({ channel: 'c', type: 't' });
    for (let n = 0; n < capacity; n++) publish();
    let holds = 0;
    const lock = {
      acquire: () => ++holds > 0,
      release: () => Array.from({ length: eventsPerRelease }, publish),
    };
    return { reader: { shared: memoryOf(buffer), capacity, lock }, holds: () => holds };
  };
  const cases = [
    { it: 'is complete when there are no publishers', capacity: 200, events: 0, holds: 4 },
    { it: 'follows publishers that are slower than it', capacity: 200, events: 10, holds: 4 },
    { it: 'starts over behind publishers that lap it', capacity: 100, events: 150, holds: 5 },
    { it: 'ends although publishers are as fast as it', capacity: 256, events: 64, holds: 9 },
  ];
  for (const { it, capacity, events, holds } of cases) {
    test(it, () => {
      const hurry = hurried(capacity, events);
      const snapshot = takeSnapshot(hurry.reader, {});
      const { oldestGeneration = 0, newestGeneration = 0, entries = [] } = snapshot ?? {};
      expect(entries.map((entry) => entry.generation)).toEqual(
        Array.from({ length: capacity }, (_, i) => oldestGeneration + i),
      );
      expect(newestGeneration).toBe(oldestGeneration + capacity - 1);
      expect(hurry.holds()).toBe(holds);
    });
  }
});
