/** The state from which no text is accepted. */
export const DEAD = -1;

/** A deterministic automaton over UTF-16 units. */
export interface Machine {
  readonly start: number;
  /** The first unit of each range that it distinguishes, ascending from 0. */
  readonly cuts: readonly number[];
  step(state: number, unit: number): number;
  accepts(state: number): boolean;
}

/** The machine of a regular language that also knows its universal states. */
export interface Language extends Machine {
  /** True if every continuation is accepted. */
  isUniversal(state: number): boolean;
}

/** The complement of a language. */
export function not(language: Language): Machine {
  const { start, cuts } = language;
  // The complement is universal where the language is dead, and the other way round.
  const everything = -2;
  const from = (state: number): number => {
    if (state === DEAD) return everything;
    return language.isUniversal(state) ? DEAD : state;
  };
  return {
    start: from(start),
    cuts,
    step: (state, unit) => (state === everything ? everything : from(language.step(state, unit))),
    accepts: (state) => state === everything || !language.accepts(state),
  };
}

/** The texts that contain one of these units. */
export function containing(units: string): Machine {
  const codes = new Set(unitsOf(units));
  return {
    start: 0,
    cuts: cutsAround([units]),
    step: (state, unit) => (state === 1 || codes.has(unit) ? 1 : 0),
    accepts: (state) => state === 1,
  };
}

/** All texts except these. */
export function except(words: readonly string[]): Machine {
  const edges: Map<number, number>[] = [new Map()];
  const ends = new Set<number>();
  for (const word of words) {
    let at = 0;
    for (const unit of unitsOf(word)) {
      const next = edges[at]?.get(unit) ?? edges.push(new Map()) - 1;
      edges[at]?.set(unit, next);
      at = next;
    }
    ends.add(at);
  }
  const away = edges.length;
  return {
    start: 0,
    cuts: cutsAround(words),
    step: (state, unit) => edges[state]?.get(unit) ?? away,
    accepts: (state) => !ends.has(state),
  };
}

/** The cuts that distinguish each unit of some texts. */
export function cutsAround(texts: Iterable<string>): readonly number[] {
  const cuts = new Set([0]);
  for (const text of texts) for (const unit of unitsOf(text)) cuts.add(unit).add(unit + 1);
  return [...cuts].toSorted((a, b) => a - b);
}

/** The UTF-16 units of a text. */
export function unitsOf(text: string): readonly number[] {
  return Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
}

/** The texts that all machines accept. */
export function intersection(machines: readonly Machine[]): Language {
  const known: (readonly number[])[] = [];
  const ids = new Map<string, number>();
  const idOf = (states: readonly number[]): number => {
    if (states.includes(DEAD)) return DEAD;
    const key = states.join();
    const id = ids.get(key) ?? known.push(states) - 1;
    ids.set(key, id);
    return id;
  };
  return {
    start: idOf(machines.map(({ start }) => start)),
    cuts: [...new Set(machines.flatMap(({ cuts }) => cuts))].toSorted((a, b) => a - b),
    step: (state, unit) => idOf(machines.map((machine, at) => machine.step(known[state]![at]!, unit))),
    accepts: (state) => machines.every((machine, at) => machine.accepts(known[state]![at]!)),
    isUniversal: () => false,
  };
}

/** The result of a search: a shortest word that all machines accept, the proof that there is none, or neither. */
interface SearchResult {
  readonly word?: string;
  readonly none: boolean;
}

/** The number of states that all searches may still visit, so that a check stays fast. */
export interface Budget {
  states: number;
}

/** The characters for examples, preferred ones first. */
export const PREFERRED = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ/.-_~=&:,;@!$()*+';

/** Maximum number of states of one search. */
const MAX_SEARCH_STATES = 5_000;

interface Visit {
  readonly states: readonly number[];
  readonly from: Visit | undefined;
  readonly unit: number;
}

const GAVE_UP: SearchResult = { none: false };

/** A shortest word that all machines accept, found breadth first over their product, with preferred characters. */
export function shortestWord(
  machines: readonly Machine[],
  budget: Budget,
  preferred = PREFERRED,
): SearchResult {
  const units = representatives(machines, preferred);
  const start: Visit = { states: machines.map((machine) => machine.start), from: undefined, unit: 0 };
  if (start.states.includes(DEAD)) return { none: true };
  const seen = new Set([start.states.join()]);
  const queue = [start];
  for (let at = 0; at < queue.length; at++) {
    const visit = queue[at]!;
    if (machines.every((machine, index) => machine.accepts(visit.states[index]!)))
      return { word: wordOf(visit), none: false };
    if (budget.states-- <= 0 || at > MAX_SEARCH_STATES) return GAVE_UP;
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

/** One unit for each range that the machines distinguish, preferred characters first. */
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

/** The index of the range that contains a unit. */
function rangeOf(unit: number, cuts: readonly number[]): number {
  let low = 0;
  let high = cuts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (cuts[middle]! <= unit) low = middle;
    else high = middle;
  }
  return low;
}
