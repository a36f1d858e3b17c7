import { expect, test } from 'vitest';
import { OrderTurns } from '../../../src/acme/custodian/order-turns.ts';

const MINUTE_MS = 60_000;
const LINE =
  '[warn] certificate "a.test" of issuer "le": other gateways have kept its lock for 60 minutes and brought none: it is ordered without the lock';

interface Step {
  readonly atMinute: number;
  readonly holder: 'ours' | 'others' | 'unknown';
  readonly isOrdered: boolean;
  /** A certificate has come from another gateway just before. */
  readonly hasSettled?: boolean;
}

const CASES: readonly { it: string; isUrgent: boolean; steps: readonly Step[]; told: number }[] = [
  {
    it: 'that another gateway orders is left to it for an hour, and then ordered all the same',
    isUrgent: true,
    steps: [
      { atMinute: 0, holder: 'others', isOrdered: false },
      { atMinute: 59, holder: 'others', isOrdered: false },
      { atMinute: 60, holder: 'others', isOrdered: true },
      { atMinute: 61, holder: 'others', isOrdered: true },
    ],
    told: 1,
  },
  {
    it: 'that is valid for long enough is left to a lock that never ends',
    isUrgent: false,
    steps: [
      { atMinute: 0, holder: 'others', isOrdered: false },
      { atMinute: 6_000, holder: 'others', isOrdered: false },
    ],
    told: 0,
  },
  {
    it: 'is ordered after an hour, too, if the store cannot always be asked',
    isUrgent: true,
    steps: [
      { atMinute: 0, holder: 'others', isOrdered: false },
      { atMinute: 30, holder: 'unknown', isOrdered: false },
      { atMinute: 34, holder: 'others', isOrdered: false },
      { atMinute: 60, holder: 'unknown', isOrdered: true },
    ],
    told: 1,
  },
  {
    it: 'is ordered after five minutes without the store',
    isUrgent: true,
    steps: [
      { atMinute: 0, holder: 'unknown', isOrdered: false },
      { atMinute: 5, holder: 'unknown', isOrdered: true },
    ],
    told: 0,
  },
  {
    it: 'is waited for anew after this gateway had its turn',
    isUrgent: true,
    steps: [
      { atMinute: 0, holder: 'others', isOrdered: false },
      { atMinute: 50, holder: 'ours', isOrdered: true },
      { atMinute: 65, holder: 'others', isOrdered: false },
      { atMinute: 120, holder: 'others', isOrdered: false },
      { atMinute: 125, holder: 'others', isOrdered: true },
    ],
    told: 1,
  },
  {
    it: 'is waited for anew after another gateway has brought one',
    isUrgent: true,
    steps: [
      { atMinute: 0, holder: 'others', isOrdered: false },
      { atMinute: 70, holder: 'others', isOrdered: false, hasSettled: true },
      { atMinute: 130, holder: 'others', isOrdered: true },
    ],
    told: 1,
  },
];

for (const { it, isUrgent, steps, told } of CASES)
  test(`a certificate ${it}`, async () => {
    let nowMs = 0;
    let holder: Step['holder'] = 'ours';
    const lines: string[] = [];
    const turns = new OrderTurns({
      issuer: 'le',
      companions: { lock: () => Promise.resolve(holder) },
      log: { write: (level, message) => void lines.push(`[${level}] ${message}`) },
      nowMs: () => nowMs,
    });
    for (const step of steps) {
      if (step.hasSettled) turns.settle('a.test');
      nowMs = step.atMinute * MINUTE_MS;
      holder = step.holder;
      expect({ ...step, isOrdered: await turns.take({ id: 'a.test', isUrgent }) }).toEqual(step);
    }
    expect(lines).toEqual(Array.from({ length: told }, () => LINE));
  });

test('a gateway in no cluster orders every certificate', async () => {
  const turns = new OrderTurns({ issuer: 'le', companions: undefined, log: { write: () => undefined } });
  expect(await turns.take({ id: 'a.test', isUrgent: false })).toBe(true);
});
