import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createZone,
  type Dictionary,
  type DictionaryEntry,
  DictionaryFault,
  type DictionaryPart,
  type DictionaryValue,
  markDead,
  openDictionary,
} from '../../../src/zone/index.ts';

const BLOCKS = 29;

interface Held {
  value: DictionaryValue;
  /** `Infinity`: never. */
  expiresMs: number;
}

/** A model of a dictionary of 4096 bytes: a list in the order of use, oldest first, with a count of blocks. */
class Model {
  readonly #held = new Map<string, Held>();
  readonly #evict: boolean;
  nowMs = 1_000_000;

  constructor(evict: boolean) {
    this.#evict = evict;
  }

  find(key: string): Held | undefined {
    const held = this.#held.get(key);
    if (held && held.expiresMs > this.nowMs) return held;
    this.#held.delete(key);
    return undefined;
  }

  use(key: string): Held | undefined {
    const held = this.find(key);
    if (held && this.#evict) this.#toEnd(key, held);
    return held;
  }

  /** False when there is no room. */
  put(key: string, value: DictionaryValue, ttlMs: number): boolean {
    if (blocksOf(key, value) > BLOCKS) return false;
    const old = this.find(key);
    if (this.#evict) this.#makeRoom(key, value, old);
    else if (!this.#fits(key, value)) this.#sweep();
    if (!this.#fits(key, value)) return false;
    this.#toEnd(key, { value, expiresMs: ttlMs === 0 ? Infinity : this.nowMs + ttlMs });
    return true;
  }

  delete(key: string): boolean {
    return this.find(key) !== undefined && this.#held.delete(key);
  }

  list(): { key: string; value: DictionaryValue; ttlMs: number }[] {
    return [...this.#held].reverse().flatMap(([key, { value, expiresMs }]) => {
      if (expiresMs <= this.nowMs) return [];
      return [{ key, value, ttlMs: expiresMs === Infinity ? 0 : expiresMs - this.nowMs }];
    });
  }

  get entries(): number {
    return this.#held.size;
  }

  get usedBlocks(): number {
    return [...this.#held].reduce((sum, [key, { value }]) => sum + blocksOf(key, value), 0);
  }

  #fits(key: string, value: DictionaryValue): boolean {
    const old = this.#held.get(key);
    return this.usedBlocks - (old ? blocksOf(key, old.value) : 0) + blocksOf(key, value) <= BLOCKS;
  }

  /** The value that is replaced is removed last: the new one takes its room. */
  #makeRoom(key: string, value: DictionaryValue, old: Held | undefined): void {
    for (const name of this.#held.keys()) {
      if (this.#fits(key, value)) return;
      if (name !== key) this.#held.delete(name);
    }
    if (old) this.#toEnd(key, old);
  }

  #sweep(): void {
    for (const [key, { expiresMs }] of this.#held) if (expiresMs <= this.nowMs) this.#held.delete(key);
  }

  #toEnd(key: string, held: Held): void {
    this.#held.delete(key);
    this.#held.set(key, held);
  }
}

/** The first block has room for 56 bytes of key and text, each further one for 120. */
function blocksOf(key: string, value: DictionaryValue): number {
  const bytes = Buffer.byteLength(key) + (typeof value === 'string' ? Buffer.byteLength(value) : 0);
  return bytes <= 56 ? 1 : 1 + Math.ceil((bytes - 56) / 120);
}

const key = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g') },
  { weight: 3, arbitrary: fc.nat(40).map((n) => `k${n}`) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 150 }) },
);
const value = fc.oneof(
  fc.nat(9),
  fc.double(),
  fc.boolean(),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.nat(3000).map((length) => 'x'.repeat(length)),
);
const ttlMs = fc.constantFrom(0, 0, 10, 25);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('set', 'add', 'replace'), key, value, ttlMs }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('get', 'delete'), key }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('incr' as const),
      key,
      delta: fc.integer({ min: -5, max: 5 }),
      init: fc.option(fc.nat(9), { nil: undefined }),
      ttlMs,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(15) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const FULL = 'no memory';
const NAN = 'not a number';

function orRefusal<T>(act: () => T): T | string {
  try {
    return act();
  } catch (error) {
    if (error instanceof DictionaryFault) return error.refusal;
    throw error;
  }
}

function actOn(dictionary: Dictionary, taken: Step): unknown {
  switch (taken.do) {
    case 'set':
      return orRefusal(() => dictionary.set(taken.key, taken.value, taken.ttlMs));
    case 'add':
      return orRefusal(() => dictionary.add(taken.key, taken.value, taken.ttlMs));
    case 'replace':
      return orRefusal(() => dictionary.replace(taken.key, taken.value, taken.ttlMs));
    case 'incr':
      return orRefusal(() => dictionary.incr(taken.key, taken.delta, taken));
    case 'get':
      return dictionary.get(taken.key);
    case 'delete':
      return dictionary.delete(taken.key);
    case 'wait':
      return undefined;
  }
}

function expectOf(model: Model, taken: Step): unknown {
  if (taken.do === 'wait') return void (model.nowMs += taken.ms);
  const found = model.find(taken.key);
  if (taken.do === 'incr') return expectIncr(model, taken, found);
  if (!('value' in taken)) return taken.do === 'get' ? model.use(taken.key)?.value : model.delete(taken.key);
  if (taken.do === 'add' && found) return false;
  if (taken.do === 'replace' && !found) return false;
  if (!model.put(taken.key, taken.value, taken.ttlMs)) return FULL;
  return taken.do === 'set' ? undefined : true;
}

function expectIncr(model: Model, taken: Extract<Step, { do: 'incr' }>, found: Held | undefined): unknown {
  if (!found) {
    if (taken.init === undefined) return undefined;
    const sum = taken.init + taken.delta;
    return model.put(taken.key, sum, taken.ttlMs) ? sum : FULL;
  }
  if (typeof found.value !== 'number') return NAN;
  found.value += taken.delta;
  model.use(taken.key);
  return found.value;
}

const byKey = (a: DictionaryEntry, b: DictionaryEntry) => (a.key < b.key ? -1 : 1);

function scanned(dictionary: Dictionary): DictionaryEntry[] {
  const found: DictionaryEntry[] = [];
  for (let cursor: number | undefined = 0; cursor !== undefined;) {
    const { entries, next }: DictionaryPart = dictionary.scan(cursor);
    found.push(...entries);
    cursor = next;
  }
  return found.toSorted(byKey);
}

/** Gives the changes to the store, if the dictionary is shared. */
function settleAll({ shared }: Dictionary): void {
  for (const change of shared.changes(1_000)) shared.settle(change);
}

for (const [evict, isShared] of [
  [false, false],
  [true, false],
  [false, true],
  [true, true],
] as const) {
  const kind = `${isShared ? 'shared ' : ''}dictionary ${evict ? 'with' : 'without'} evict`;
  test(`a ${kind} behaves as a list in the order of use, after any sequence of calls`, () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (program) => {
        const model = new Model(evict);
        const buffer = createZone({ name: 'd', kind: 'dictionary', sizeBytes: 4096 });
        const dictionary = openDictionary(buffer, 3, { evict, now: () => model.nowMs });
        if (isShared) dictionary.shared.share(7, 5_000);
        for (const taken of program) {
          const expected = expectOf(model, taken);
          expect(actOn(dictionary, taken)).toEqual(expected);
          settleAll(dictionary);
          expect(dictionary.list(Infinity)).toEqual(model.list());
          expect(scanned(dictionary)).toEqual(model.list().toSorted(byKey));
          expect(dictionary.facts()).toMatchObject({
            entries: model.entries,
            freeBytes: (BLOCKS - model.usedBlocks) * 128,
          });
        }
        // A thread that dies now, under the lock, leaves everything consistent.
        new Int32Array(buffer)[4] = 3 + 1;
        markDead(buffer, 3);
        const after = openDictionary(buffer, 4, { evict, now: () => model.nowMs });
        expect(after.list(Infinity)).toHaveLength(model.list().length);
        expect(after.list(Infinity)).toEqual(expect.arrayContaining(model.list()));
        expect(after.facts()).toMatchObject({
          entries: model.entries,
          freeBytes: (BLOCKS - model.usedBlocks) * 128,
        });
      }),
      { numRuns: 300 },
    );
  });
}
