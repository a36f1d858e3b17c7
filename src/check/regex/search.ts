import { DEAD, unitsOf } from './machine.ts';
import type { Machine } from './machine.ts';

/** What a search found: a shortest word that all machines accept; or the proof that there is none; or neither. */
export interface Searched {
  readonly word?: string;
  readonly none: boolean;
}

/** How many states searches may still look at, all together: a check stays fast whatever it is given. */
export interface Budget {
  states: number;
}

/** The units that examples are made of, the best first. */
export const PREFERRED = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ/.-_~=&:,;@!$()*+';

/** One search does not take more than this. */
const MAX_STATES = 5_000;

interface Visit {
  readonly states: readonly number[];
  readonly from: Visit | undefined;
  readonly unit: number;
}

const GAVE_UP: Searched = { none: false };

/** A shortest word that every machine accepts, breadth first over their product; of several, one of preferred characters. */
export function shortestWord(machines: readonly Machine[], budget: Budget, preferred = PREFERRED): Searched {
  const units = representatives(machines, preferred);
  const start: Visit = { states: machines.map((machine) => machine.start), from: undefined, unit: 0 };
  if (start.states.includes(DEAD)) return { none: true };
  const seen = new Set([start.states.join()]);
  const queue = [start];
  for (let at = 0; at < queue.length; at++) {
    const visit = queue[at]!;
    if (machines.every((machine, index) => machine.accepts(visit.states[index]!)))
      return { word: wordOf(visit), none: false };
    if (budget.states-- <= 0 || at > MAX_STATES) return GAVE_UP;
    for (const unit of units) {
      const states = stepAll(machines, visit.states, unit);
      const key = states?.join();
      if (!states || key === undefined || seen.has(key)) continue;
      seen.add(key);
      queue.push({ states, from: visit, unit });
    }
  }
  return { none: true };
}

function stepAll(
  machines: readonly Machine[],
  states: readonly number[],
  unit: number,
): readonly number[] | undefined {
  const next: number[] = [];
  for (const [index, machine] of machines.entries()) {
    const state = machine.step(states[index]!, unit);
    if (state === DEAD) return undefined;
    next.push(state);
  }
  return next;
}

function wordOf(last: Visit): string {
  const units: number[] = [];
  for (let visit = last; visit.from; visit = visit.from) units.push(visit.unit);
  return String.fromCharCode(...units.toReversed());
}

/** One unit for each range that the machines tell apart, those that read best first. */
function representatives(machines: readonly Machine[], preferred: string): readonly number[] {
  const cuts = [...new Set([0, ...machines.flatMap(({ cuts: own }) => own)])].toSorted((a, b) => a - b);
  const chosen = new Map<number, number>();
  for (const unit of unitsOf(preferred)) {
    const range = rangeOf(unit, cuts);
    if (!chosen.has(range)) chosen.set(range, unit);
  }
  const rest = cuts.filter((_, range) => !chosen.has(range));
  return [...chosen.values(), ...rest.filter((unit) => unit <= 0xffff)];
}

/** The index of the last cut that is not behind the unit. */
export function rangeOf(unit: number, cuts: readonly number[]): number {
  let low = 0;
  let high = cuts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (cuts[middle]! <= unit) low = middle;
    else high = middle;
  }
  return low;
}
