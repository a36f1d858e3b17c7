import { Counters, createCounterMemory } from '../../src/zone/index.ts';

/** Counters of a worker that is alone in the world. */
export function aloneCounters(): Counters {
  return new Counters(createCounterMemory(1_000, 1), 0);
}
