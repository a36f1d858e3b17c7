import { expect, test } from 'vitest';
import {
  createZone,
  keepsZone,
  openDictionary,
  openRing,
  zoneBytes,
  zoneConflict,
  zoneFault,
} from '../../../src/zone/index.ts';
import { zone } from './dictionary-of.ts';

const faults = [
  { sizeBytes: 4096, fault: undefined },
  { sizeBytes: 268_435_456, fault: undefined },
  {
    sizeBytes: 4095,
    fault: 'zone "d" is too small: a dictionary needs at least 4096 bytes, 4095 given',
  },
  {
    sizeBytes: 268_435_457,
    fault: 'zone "d" is too large: at most 268435456 bytes are allowed, 268435457 given',
  },
];
for (const { sizeBytes, fault } of faults) {
  test(`a zone of ${sizeBytes} bytes: ${fault ?? 'fits'}`, () =>
    expect(zoneFault(zone(sizeBytes))).toBe(fault));
}

test('a zone of any size is divided without a byte too many', () => {
  for (let sizeBytes = 4096; sizeBytes < 9000; sizeBytes += 37) {
    const dictionary = openDictionary(createZone(zone(sizeBytes)), 1);
    const { capacityBytes } = dictionary.facts();
    for (let n = 0; n < capacityBytes / 128; n++) dictionary.set(`k${n}`, n);
    expect(dictionary.facts()).toMatchObject({ entries: capacityBytes / 128, freeBytes: 0 });
    expect(capacityBytes).toBeGreaterThan(zoneBytes(zone(sizeBytes)) * 0.9);
    for (let n = 0; n < capacityBytes / 128; n++) expect(dictionary.get(`k${n}`)).toBe(n);
  }
});

test('a reload keeps a zone while kind and size stay', () => {
  const buffer = createZone(zone(8192));
  openDictionary(buffer, 1).set('k', 'v');
  expect(keepsZone(buffer, zone(8192))).toBe(true);
  expect(keepsZone(buffer, zone(8320))).toBe(false);
  expect(keepsZone(buffer, { name: 'd', kind: 'ring', capacity: 11 })).toBe(false);
  expect(openDictionary(buffer, 2, { evict: true, timeoutMs: 5 }).get('k')).toBe('v');
});

test('a zone has one kind and one size', () => {
  const ring = { name: 'd', kind: 'ring', capacity: 4 } as const;
  expect(zoneConflict(zone(), ring)).toBe('zone "d" is already declared as a ring');
  expect(zoneConflict(ring, zone())).toBe('zone "d" is already declared as a dictionary');
  expect(zoneConflict(zone(8192), zone(4096))).toBe(
    'size 8192 of zone "d" conflicts with already declared size 4096',
  );
  expect(zoneConflict(zone(), zone())).toBeUndefined();
});

test('a zone of another kind is refused', () => {
  expect(() => openDictionary(createZone({ name: 'd', kind: 'ring', capacity: 4 }), 1)).toThrow(
    'does not hold a dictionary',
  );
  expect(() => openRing(createZone(zone()), 1)).toThrow('does not hold a ring');
});
