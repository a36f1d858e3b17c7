import { Counters, createCounterMemory } from '../../src/zone/index.ts';

/** Counters for a single worker without a master. */
export function aloneCounters(): Counters {
  return new Counters(createCounterMemory(1_000, 1), 0);
}
