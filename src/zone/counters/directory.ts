import {
  ENTRIES_WORD,
  ENTRY_WORDS,
  FIRST_ENTRY_WORD,
  KINDS,
  LIMIT_WORD,
  TEXT_BYTES_WORD,
  capacityOf,
} from './memory.ts';
import { ZoneLock, setAlive } from '../lock.ts';
import type { Kind } from './memory.ts';

/** Label names and values in the order in which they are shown. */
export type Labels = Readonly<Record<string, string>>;

/** Upper bounds of a histogram's twelve buckets; the thirteenth takes the rest. */
export const SCALES = {
  seconds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  bytes: [
    64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 268_435_456,
  ],
} as const;
export type Scale = keyof typeof SCALES;
const SCALE_NAMES = Object.keys(SCALES) as readonly Scale[];

/** One series: a metric with one set of labels. */
export interface Series {
  readonly kind: Kind;
  readonly name: string;
  readonly help: string;
  readonly labels: Labels;
  /** Of a histogram. */
  readonly scale: Scale;
}

/** A series and its place in every row. */
export interface Entry extends Series {
  readonly index: number;
}

/** The names of all series, as one thread sees them. Entries are only ever added. */
export class CounterDirectory {
  readonly #words: Int32Array;
  readonly #text: Buffer;
  readonly #capacity: number;
  readonly #lock: ZoneLock;
  readonly #known = new Map<string, Entry>();

  constructor(directory: SharedArrayBuffer, threadId: number) {
    this.#capacity = capacityOf(directory);
    const words = FIRST_ENTRY_WORD + this.#capacity * ENTRY_WORDS;
    this.#words = new Int32Array(directory, 0, words);
    this.#text = Buffer.from(directory, words * 4);
    setAlive(this.#words, threadId);
    this.#lock = new ZoneLock(this.#words, threadId, () => undefined);
  }

  /** The place of a series, found or made; of `other` in its stead once the limit is reached; `undefined` if that fails too. */
  place(series: Series): number | undefined {
    const found = this.#find(series);
    if (found !== undefined || !this.#lock.acquire()) return found;
    try {
      return (
        this.#find(series) ?? this.#add(series, this.#words[LIMIT_WORD] as number) ?? this.#placeOther(series)
      );
    } finally {
      this.#lock.release();
    }
  }

  /** Every series that any thread has made so far. */
  entries(): Iterable<Entry> {
    this.#learn();
    return this.#known.values();
  }

  #placeOther(series: Series): number | undefined {
    // What a thread measures of itself has no meaning in a sum with other things.
    if (series.kind === 'gauge') return undefined;
    const labels = Object.fromEntries(Object.keys(series.labels).map((name) => [name, 'other']));
    const other = { ...series, labels };
    return this.#find(other) ?? this.#add(other, this.#capacity);
  }

  #find(series: Series): number | undefined {
    const key = keyOf(series);
    if (!this.#known.has(key)) this.#learn();
    return this.#known.get(key)?.index;
  }

  /** Under the lock. The number of entries goes up last: until then nobody looks at the new one. */
  #add(series: Series, limit: number): number | undefined {
    const text = Buffer.from(keyOf(series));
    const index = Atomics.load(this.#words, ENTRIES_WORD);
    const offset = this.#words[TEXT_BYTES_WORD] as number;
    if (index >= limit || offset + text.length > this.#text.length) return undefined;
    this.#text.set(text, offset);
    const facts = [KINDS.indexOf(series.kind), offset, text.length, SCALE_NAMES.indexOf(series.scale)];
    this.#words.set(facts, FIRST_ENTRY_WORD + index * ENTRY_WORDS);
    this.#words[TEXT_BYTES_WORD] = offset + text.length;
    Atomics.store(this.#words, ENTRIES_WORD, index + 1);
    this.#learn();
    return index;
  }

  #learn(): void {
    const count = Atomics.load(this.#words, ENTRIES_WORD);
    for (let index = this.#known.size; index < count; index++) {
      const entry = this.#read(index);
      this.#known.set(keyOf(entry), entry);
    }
  }

  #read(index: number): Entry {
    const at = FIRST_ENTRY_WORD + index * ENTRY_WORDS;
    const [kind, offset, length, scale] = this.#words.subarray(at, at + ENTRY_WORDS) as unknown as [
      kind: number,
      offset: number,
      length: number,
      scale: number,
    ];
    const text = this.#text.toString('utf8', offset, offset + length);
    const [name, help, labels] = JSON.parse(text) as [string, string, Labels];
    return { index, kind: KINDS[kind] as Kind, name, help, labels, scale: SCALE_NAMES[scale] as Scale };
  }
}

function keyOf({ name, help, labels }: Series): string {
  return JSON.stringify([name, help, labels]);
}
