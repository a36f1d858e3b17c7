import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createZone, openRing } from '../../src/zone/index.ts';

interface ModelEntry {
  generation: number;
  channel: string;
  type: string;
  payload: string | null;
}

const textUpTo = (maxBytes: number) =>
  fc.string({ unit: 'binary', maxLength: maxBytes }).filter((text) => Buffer.byteLength(text) <= maxBytes);
const name = fc.oneof(
  fc.constantFrom('a', 'b'),
  textUpTo(64).filter((text) => text !== ''),
);
const publish = fc.record({
  do: fc.constant('publish' as const),
  channel: name,
  type: name,
  payload: fc.oneof(fc.constant(null), textUpTo(512)),
});
const look = fc.record({
  do: fc.constant('look' as const),
  since: fc.nat(60),
  limit: fc.oneof(fc.constant(Infinity), fc.nat(20)),
  channel: fc.option(name, { nil: undefined }),
  type: fc.option(name, { nil: undefined }),
});
const steps = fc.array(fc.oneof({ weight: 4, arbitrary: publish }, { weight: 1, arbitrary: look }), {
  maxLength: 80,
});

test('the ring behaves as a list that keeps its last entries, for any sequence of calls', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(511), steps, (capacity, threadId, program) => {
      const ring = openRing(createZone({ name: 'z', kind: 'ring', capacity }), threadId);
      const model: ModelEntry[] = [];
      for (const step of program) {
        if (step.do === 'publish') {
          const { channel, type, payload } = step;
          model.push({ generation: model.length + 1, channel, type, payload });
          const evicted = model.length > capacity;
          expect(ring.publish(step)).toEqual({ generation: model.length, evicted });
          expect(ring.read(model.length)).toMatchObject({ channel, type, payload });
          continue;
        }
        const kept = model.slice(-capacity);
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
          newestGeneration: model.length,
          droppedEvents: Math.max(0, model.length - capacity),
        });
        expect(entries.map(({ timestampMs: _created, ...entry }) => entry)).toEqual(
          wanted.slice(0, step.limit),
        );
      }
    }),
    { numRuns: 300 },
  );
});
