import type { Counters } from '../../../zone/index.ts';
import type { Moment } from './contract.ts';
import { requestsOf, tallyOf, valueOf } from './tally.ts';
import type { Tally } from './tally.ts';

const SAMPLE_MS = 2_000;
const MAX_MOMENTS = 150;
/** Every fifth sample keeps the locations as well. */
const TALLY_EVERY = 5;
const MAX_TALLIES = 31;
const CLASSES = 5;

/** What the counters said at a time. */
export interface KeptTally {
  readonly atMs: number;
  readonly tally: Tally;
}

/**
 * The last five minutes of the counters, kept by each worker for itself: they are the same counters, so that any worker's
 * history answers for all.
 */
export class History {
  readonly #metrics: Counters;
  readonly #moments: Moment[] = [];
  readonly #tallies: KeptTally[] = [];
  readonly #lastHits = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #before: Tally | undefined;
  #samples = 0;

  constructor(metrics: Counters) {
    this.#metrics = metrics;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Oldest first. */
  momentsAfter(atMs: number): readonly Moment[] {
    return this.#moments.filter((moment) => moment.atMs > atMs);
  }

  /** Ten seconds apart, oldest first. */
  get tallies(): readonly KeptTally[] {
    return this.#tallies;
  }

  /** When a location was last seen to have got a request. */
  lastHit(key: string): number | undefined {
    return this.#lastHits.get(key);
  }

  #sample(): void {
    const families = this.#metrics.read();
    const atMs = Date.now();
    const tally = tallyOf(families);
    this.#noteHits(tally, atMs);
    const connections = valueOf(families, 'nginx_connections_active');
    keep(this.#moments, { atMs, ...sumOf(tally), connections }, MAX_MOMENTS);
    if (this.#samples++ % TALLY_EVERY === 0) keep(this.#tallies, { atMs, tally }, MAX_TALLIES);
  }

  #noteHits(tally: Tally, atMs: number): void {
    if (this.#before) {
      for (const [key, place] of tally) {
        const before = this.#before.get(key);
        if (!before || requestsOf(before) !== requestsOf(place)) this.#lastHits.set(key, atMs);
      }
    }
    this.#before = tally;
  }
}

function keep<T>(list: T[], item: T, max: number): void {
  list.push(item);
  if (list.length > max) list.shift();
}

/** All locations together. */
function sumOf(tally: Tally): Pick<Moment, 'classes' | 'buckets' | 'bytes'> {
  const classes = Array.from({ length: CLASSES }, () => 0);
  const buckets: number[] = [];
  let bytes = 0;
  for (const place of tally.values()) {
    for (const [code, count] of place.codes) {
      const index = Number(code[0]) - 1;
      if (index in classes) (classes[index] as number) += count;
    }
    for (const [index, count] of place.buckets.entries()) buckets[index] = (buckets[index] ?? 0) + count;
    bytes += place.bytes;
  }
  return { classes, buckets, bytes };
}
