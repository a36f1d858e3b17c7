import { expect, test } from 'vitest';
import { Circuit, type Outcome, type Ticket } from '../../../src/modules/circuit_breaker/circuit.ts';
import { createZone, openRequestRates } from '../../../src/zone/index.ts';

const LIMITS = { failures: 2, successes: 2, timeoutMs: 100 };

/** A circuit of two workers with a separate clock. */
function circuits() {
  const zone = createZone({ name: 'c', kind: 'request limit', sizeBytes: 32_768, key: 'c' });
  const clock = { nowMs: 1000 };
  const [one, two] = [1, 2].map(
    (thread) => new Circuit(openRequestRates(zone, thread), { key: 'k', ...LIMITS }, () => clock.nowMs),
  ) as [Circuit, Circuit];
  const changes: string[] = [];
  return {
    one,
    two,
    clock,
    changes,
    settle: (ticket: unknown, outcome: Outcome) =>
      one.settle(ticket as Ticket, outcome, (state) => changes.push(state)),
  };
}

/** Each step: the milliseconds since the last one, how a request ends, and the state or refusal afterwards. */
const cases: readonly { it: string; steps: readonly (readonly [number, Outcome, string])[] }[] = [
  {
    it: 'opens after failures in a row only',
    steps: [
      [0, 'failure', 'closed'],
      [0, 'success', 'closed'],
      [0, 'failure', 'closed'],
      [0, 'unknown', 'closed'],
      [0, 'failure', 'open'],
    ],
  },
  {
    it: 'is half open when its time is over, and closes after successes in a row',
    steps: [
      [0, 'failure', 'closed'],
      [0, 'failure', 'open'],
      [99, 'success', 'open'],
      [1, 'success', 'half_open'],
      [0, 'unknown', 'half_open'],
      [0, 'success', 'closed'],
      [0, 'failure', 'closed'],
    ],
  },
  {
    it: 'opens again after one failure, and forgets the successes before it',
    steps: [
      [0, 'failure', 'closed'],
      [0, 'failure', 'open'],
      [100, 'success', 'half_open'],
      [0, 'failure', 'open'],
      [99, 'failure', 'open'],
      [1, 'success', 'half_open'],
      [0, 'success', 'closed'],
    ],
  },
];
for (const { it, steps } of cases) {
  test(`a circuit ${it}`, () => {
    const { one, two, clock, settle } = circuits();
    for (const [index, [ms, outcome, state]] of steps.entries()) {
      clock.nowMs += ms;
      const ticket = two.admit();
      if (typeof ticket !== 'string') settle(ticket, outcome);
      expect([index, one.state]).toEqual([index, state]);
    }
  });
}

test('one request at a time is a trial, and a trial without an outcome blocks others for the time of the circuit', () => {
  const { one, two, clock, changes, settle } = circuits();
  for (let n = 0; n < 2; n++) settle(one.admit(), 'failure');
  clock.nowMs += 100;
  const lost = two.admit();
  expect([one.admit(), two.admit(), one.state]).toEqual(['half_open_busy', 'half_open_busy', 'half_open']);
  clock.nowMs += 100;
  const trial = one.admit();
  settle(lost, 'failure');
  expect(one.admit()).toBe('half_open_busy');
  settle(trial, 'success');
  settle(one.admit(), 'success');
  expect(changes).toEqual(['open', 'closed']);
});

test('a request from before the circuit opened has no effect when it ends', () => {
  const { one, clock, changes, settle } = circuits();
  const late = [one.admit(), one.admit()];
  for (let n = 0; n < 2; n++) settle(one.admit(), 'failure');
  settle(late[0], 'success');
  clock.nowMs += 100;
  settle(late[1], 'failure');
  expect([one.state, changes]).toEqual(['half_open', ['open']]);
});
