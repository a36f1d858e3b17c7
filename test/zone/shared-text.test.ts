import { expect, test } from 'vitest';
import {
  createZone,
  keepsZone,
  markDead,
  SharedText,
  type SharedTextDeclaration,
  zoneConflict,
  zoneFault,
} from '../../src/zone/index.ts';

const SILENCE_MS = 1000;

const zone = (bytes = 8): SharedTextDeclaration => ({ name: 'a text', kind: 'shared text', bytes });
const textsOf = () => {
  const buffer = createZone(zone());
  return { buffer, one: new SharedText(buffer, 1), other: new SharedText(buffer, 2) };
};

test('every thread sees a text and its revision after a change', () => {
  const { one, other } = textsOf();
  expect(other.read()).toEqual({ revision: 0, text: '' });
  const cases: [
    next: (text: string) => string | undefined,
    outcome: string,
    text: string,
    revision: number,
  ][] = [
    [() => 'größe', 'changed', 'größe', 1],
    [(text) => text.slice(0, 2), 'changed', 'gr', 2],
    [() => undefined, 'unchanged', 'gr', 2],
    [() => 'größer!', 'too long', 'gr', 2],
    [() => '12345678', 'changed', '12345678', 3],
    [() => '', 'changed', '', 4],
  ];
  for (const [next, outcome, text, revision] of cases) {
    expect(one.change(next)).toBe(outcome);
    expect(other.read()).toEqual({ revision, text });
    expect(other.revision).toBe(revision);
  }
});

test('a change that throws leaves the text, and others may change it', () => {
  const { one, other } = textsOf();
  const fails = () => {
    throw new Error('no');
  };
  expect(() => one.change(fails)).toThrow('no');
  expect(other.change(() => 'text')).toBe('changed');
});

test('every thread knows the revision that was saved', () => {
  const { one, other } = textsOf();
  one.savedRevision = 3;
  expect(other.savedRevision).toBe(3);
});

test('the two seats of a text have holders of their own, and are free when a thread has exited', () => {
  const { buffer, one, other } = textsOf();
  const holds = (text: SharedText) => ([0, 1] as const).map((index) => text.seat(index).hold(SILENCE_MS));
  expect(one.seat(0).hold(SILENCE_MS)).toBe(true);
  expect(holds(other)).toEqual([false, true]);
  expect(holds(one)).toEqual([true, false]);
  markDead(buffer, 1);
  expect(holds(other)).toEqual([true, true]);
});

test('a text needs a zone of its size', () => {
  expect(zoneFault(zone(134_217_632))).toBeUndefined();
  expect(zoneFault(zone(134_217_633))).toBe(
    'zone "a text" is too large: a text of 134217633 bytes needs 268435458 bytes, at most 268435456 are allowed',
  );
  expect(zoneConflict(zone(9), zone(8))).toBe('zone "a text" is already declared with another size');
  const buffer = createZone(zone(8));
  expect([8, 9].map((bytes) => keepsZone(buffer, zone(bytes)))).toEqual([true, false]);
});
