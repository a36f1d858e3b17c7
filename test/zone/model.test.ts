import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createZone, openRing } from '../../src/zone/index.ts';

interface ModelEntry {
  generation: number;
  channel: string;
  type: string;
  payload: string | null;
  position: number;
  counter: number;
  sequence: number;
  origin: number;
}

const textUpTo = (maxBytes: number) =>
  fc.string({ unit: 'binary', maxLength: maxBytes }).filter((text) => Buffer.byteLength(text) <= maxBytes);
const name = fc.oneof(
  fc.constantFrom('a', 'b'),
  textUpTo(64).filter((text) => text !== ''),
);
const texts = { channel: name, type: name, payload: fc.oneof(fc.constant(null), textUpTo(512)) };
const counter = fc.integer({ min: 1, max: 2 ** 53 });
const publish = fc.record({ do: fc.constant('publish' as const), ...texts });
const received = fc.record({
  ...texts,
  timestampMs: fc.nat(),
  counter,
  origin: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  sequence: counter,
});
const receive = fc.record({
  do: fc.constant('receive' as const),
  events: fc.array(received, { maxLength: 3 }),
});
const confirmation = fc.record({
  do: fc.constant('confirm' as const),
  generation: fc.integer({ min: 1, max: 80 }),
  counter,
});
const move = fc.record({ do: fc.constant('move' as const), counter });
const look = fc.record({
  do: fc.constant('look' as const),
  since: fc.nat(60),
  limit: fc.oneof(fc.constant(Infinity), fc.nat(20)),
  channel: fc.option(name, { nil: undefined }),
  type: fc.option(name, { nil: undefined }),
});
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: publish },
    { weight: 1, arbitrary: receive },
    { weight: 1, arbitrary: confirmation },
    { weight: 1, arbitrary: move },
    { weight: 1, arbitrary: look },
  ),
  { maxLength: 80 },
);
type Step = typeof steps extends fc.Arbitrary<(infer S)[]> ? S : never;

/** The ring as a list of everything that was ever appended. */
class Model {
  readonly entries: ModelEntry[] = [];
  readonly #capacity: number;
  #position = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** What the ring returns for a step other than `look`. */
  take(step: Exclude<Step, { do: 'look' }>): unknown {
    const { entries } = this;
    switch (step.do) {
      case 'publish': {
        const { channel, type, payload } = step;
        const generation = entries.length + 1;
        const fields = { position: this.#position, counter: 0, sequence: generation, origin: 0 };
        entries.push({ generation, channel, type, payload, ...fields });
        return { generation, evicted: generation > this.#capacity };
      }
      case 'receive':
        for (const { timestampMs: _, ...event } of step.events) {
          this.#position = event.counter;
          entries.push({ generation: entries.length + 1, position: event.counter, ...event });
        }
        return step.events.length && entries.length;
      case 'confirm': {
        const placed = this.kept().find((e) => e.generation === step.generation && e.origin === 0);
        if (placed) placed.counter = step.counter;
        return placed ? 1 : 0;
      }
      case 'move':
        this.#position = step.counter;
        return true;
    }
  }

  kept(): readonly ModelEntry[] {
    return this.entries.slice(-this.#capacity);
  }
}

function act(ring: ReturnType<typeof openRing>, step: Exclude<Step, { do: 'look' }>): unknown {
  if (step.do === 'publish') return ring.publish(step);
  if (step.do === 'receive') return ring.receive(step.events);
  return step.do === 'confirm'
    ? ring.confirm([{ generation: step.generation, counter: step.counter }])
    : ring.movePosition(step.counter);
}

test('the ring behaves as a list that keeps its last entries, for any sequence of calls', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(511), steps, (capacity, threadId, program) => {
      const ring = openRing(createZone({ name: 'z', kind: 'ring', capacity }), threadId);
      const model = new Model(capacity);
      for (const step of program) {
        if (step.do !== 'look') {
          expect(act(ring, step)).toEqual(model.take(step));
          const last = model.entries.at(-1);
          if (last) expect(ring.read(last.generation)).toMatchObject(last);
          continue;
        }
        const kept = model.kept();
        const wanted = kept.filter(
          (entry) =>
            entry.generation > step.since &&
            (step.channel === undefined || entry.channel === step.channel) &&
            (step.type === undefined || entry.type === step.type),
        );
        const {
          entries,
          lastPublishMs: _,
          ...facts
        } = ring.snapshot(step) ?? { entries: [], lastPublishMs: 0 };
        expect(facts).toEqual({
          capacity,
          oldestGeneration: kept[0]?.generation ?? 0,
          newestGeneration: model.entries.length,
          droppedEvents: Math.max(0, model.entries.length - capacity),
        });
        expect(entries.map(({ timestampMs: _created, ...entry }) => entry)).toEqual(
          wanted.slice(0, step.limit),
        );
      }
    }),
    { numRuns: 300 },
  );
});
