import { SharedText, type SharedTextDeclaration } from '../../../zone/index.ts';
import { type Moment, type Range, RANGES } from './ranges.ts';

/** The counts at one time: those of all locations together, and requests and 5xx of single ones. */
export interface Sample extends Moment {
  /** By server and location. */
  readonly locations: ReadonlyMap<string, Outcomes>;
}

/** Counts since the start. */
interface Outcomes {
  readonly requests: number;
  /** Responses of 5xx. */
  readonly errors: number;
}

/** Room for about 2 KB a sample; where locations have longer names, the oldest samples are dropped. */
const TEXT_BYTES = 393_216;
/** How long the worker that takes samples may be silent before another one does. */
const SILENCE_MS = 5_000;
/** A timer may be early by that much. */
const SLACK_MS = 500;

function zoneOf({ name }: Range): SharedTextDeclaration {
  return { name: `gw console history ${name}`, kind: 'shared text', bytes: TEXT_BYTES };
}

/** The shared memory of the history; it has the same size in all configurations, so that reloads keep it. */
export const TIMELINE_ZONES: readonly SharedTextDeclaration[] = RANGES.map(zoneOf);

/** Where a worker finds its shared memory. */
interface TimelineScope {
  readonly workerId: number;
  zone(name: string): SharedArrayBuffer;
}

/**
 * The history of the counters, in shared memory: all workers see the same one. One worker adds to it; when that one dies
 * or hangs, another one goes on.
 */
export class Timelines {
  readonly #lines: readonly Timeline[];
  readonly #seat: ReturnType<SharedText['seat']>;

  constructor(scope: TimelineScope) {
    const texts = RANGES.map((range) => new SharedText(scope.zone(zoneOf(range).name), scope.workerId));
    this.#lines = RANGES.map((range, index) => new Timeline(texts[index] as SharedText, range));
    this.#seat = (texts[0] as SharedText).seat(0);
  }

  /** Adds the counts to the ranges whose step has passed, if it is for this worker to do so. */
  add(read: () => Sample): void {
    if (!this.#seat.hold(SILENCE_MS)) return;
    const sample = read();
    for (const line of this.#lines) line.add(sample);
  }

  /** Lets another worker go on. */
  close(): void {
    this.#seat.leave();
  }

  /** Returns the samples of a range, oldest first. */
  samplesOf(range: Range): readonly Sample[] {
    return this.#lines[RANGES.indexOf(range)]?.samples() ?? [];
  }

  /** Returns the samples of all ranges, oldest first: those of the last minutes are the closest together. */
  all(): readonly Sample[] {
    let all: readonly Sample[] = [];
    for (const line of this.#lines) {
      const firstMs = all[0]?.atMs ?? Infinity;
      all = [...line.samples().filter(({ atMs }) => atMs < firstMs), ...all];
    }
    return all;
  }
}

/** The history of one range. */
class Timeline {
  readonly #text: SharedText;
  readonly #stepMs: number;
  readonly #most: number;
  #known: { readonly revision: number; readonly samples: readonly Sample[] } = { revision: 0, samples: [] };

  constructor(text: SharedText, { seconds, stepMs }: Range) {
    this.#text = text;
    this.#stepMs = stepMs;
    // One more than steps: the rate of a step needs the counts at both ends.
    this.#most = (seconds * 1_000) / stepMs + 1;
  }

  samples(): readonly Sample[] {
    if (this.#text.revision === this.#known.revision) return this.#known.samples;
    const found = this.#text.read();
    if (found) this.#known = { revision: found.revision, samples: decode(found.text) };
    return this.#known.samples;
  }

  add(sample: Sample): void {
    // A clock that was set back: what seems to be later would never be followed by anything.
    const before = this.samples().filter(({ atMs }) => atMs <= sample.atMs);
    const last = before.at(-1);
    if (last && sample.atMs - last.atMs < this.#stepMs - SLACK_MS) return;
    let kept = [...before, sample].slice(-this.#most);
    let text = encode(kept);
    while (Buffer.byteLength(text) > TEXT_BYTES && kept.length > 1) {
      kept = kept.slice(Math.ceil(kept.length / 8));
      text = encode(kept);
    }
    this.#text.change(() => text);
  }
}

/** Each location is named once; a sample has its number, requests and errors in a row. */
function encode(samples: readonly Sample[]): string {
  const numbers = new Map<string, number>();
  const numberOf = (key: string): number => {
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  };
  const rows = samples.map(({ atMs, connections, bytes, classes, buckets, locations }) => {
    const counted = [...locations].flatMap(([key, { requests, errors }]) => [
      numberOf(key),
      requests,
      errors,
    ]);
    return [atMs, connections, bytes, classes, buckets, counted];
  });
  return JSON.stringify({ names: [...numbers.keys()], rows });
}

type StoredSample = readonly [
  atMs: number,
  connections: number,
  bytes: number,
  classes: readonly number[],
  buckets: readonly number[],
  counted: readonly number[],
];

function decode(text: string): readonly Sample[] {
  if (text === '') return [];
  const { names, rows } = JSON.parse(text) as {
    readonly names: readonly string[];
    readonly rows: readonly StoredSample[];
  };
  return rows.map(([atMs, connections, bytes, classes, buckets, counted]) => {
    const locations = new Map<string, Outcomes>();
    for (let at = 0; at + 2 < counted.length; at += 3) {
      const [number = 0, requests = 0, errors = 0] = counted.slice(at, at + 3);
      locations.set(names[number] ?? '', { requests, errors });
    }
    return { atMs, connections, bytes, classes, buckets, locations };
  });
}
