import type { MasterScope, WorkerScope } from '../../../contract/index.ts';
import {
  type Counters,
  keepErrorLine,
  LOG_TAIL,
  type MetricFamily,
  type MetricSample,
  openRing,
} from '../../../zone/index.ts';
import type { ConfigText } from './contract.ts';
import { PeerTimes } from './peer-times.ts';
import type { Moment } from './ranges.ts';
import { type Sample, Timelines } from './timeline.ts';

/** The counts of one location since the start. */
export interface LocationTally {
  readonly server: string;
  readonly location: string;
  readonly codes: ReadonlyMap<string, number>;
  /** Histogram of durations. */
  readonly buckets: readonly number[];
  readonly bytes: number;
}

/** Counts by server and location. */
type Tally = ReadonlyMap<string, LocationTally>;

/** Returns the samples of a metric; none if nothing was counted. */
export function samplesOf(families: readonly MetricFamily[], name: string): readonly MetricSample[] {
  return families.find((family) => family.name === name)?.samples ?? [];
}

/** Returns the value of a metric without labels. */
export function valueOf(families: readonly MetricFamily[], name: string): number {
  return samplesOf(families, name)[0]?.value ?? 0;
}

/** Returns the counts of every location that has had requests. */
export function tallyOf(families: readonly MetricFamily[]): Tally {
  const durations = byLocation(samplesOf(families, 'gw_http_request_duration_seconds'));
  const sizes = byLocation(samplesOf(families, 'gw_http_response_size_bytes'));
  const codes = new Map<string, Map<string, number>>();
  for (const { labels, value } of samplesOf(families, 'gw_http_requests_total')) {
    const key = keyOf(labels);
    const counts = codes.get(key) ?? new Map<string, number>();
    const code = labels['code'] ?? '';
    codes.set(key, counts.set(code, (counts.get(code) ?? 0) + value));
  }
  return new Map(
    [...durations].map(([key, { labels, buckets = [] }]) => [
      key,
      {
        server: labels['server'] ?? '',
        location: labels['location'] ?? '',
        codes: codes.get(key) ?? new Map<string, number>(),
        buckets,
        bytes: sizes.get(key)?.value ?? 0,
      },
    ]),
  );
}

export function requestsOf({ codes }: Pick<LocationTally, 'codes'>): number {
  let sum = 0;
  for (const count of codes.values()) sum += count;
  return sum;
}

function byLocation(samples: readonly MetricSample[]): ReadonlyMap<string, MetricSample> {
  return new Map(samples.map((sample) => [keyOf(sample.labels), sample]));
}

function keyOf(labels: MetricSample['labels']): string {
  return `${labels['server'] ?? ''}\n${labels['location'] ?? ''}`;
}

const SAMPLE_MS = 2_000;
/** Every fifth sample includes the counts by location. */
const TALLY_EVERY = 5;
const MAX_TALLIES = 31;
const CLASSES = 5;
/** Locations of one sample: those with failures first, then the busiest. */
const MOST_LOCATIONS = 64;

/** The counts at one time. */
interface KeptTally {
  readonly atMs: number;
  readonly tally: Tally;
}

/**
 * What a worker remembers of the shared counters: the last five minutes of each location. The history of the gateway
 * (`timelines`) is in shared memory.
 */
export class History {
  readonly timelines: Timelines;
  readonly #metrics: Counters;
  readonly #tallies: KeptTally[] = [];
  readonly #lastHits = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #before: Tally | undefined;
  #samples = 0;

  constructor(metrics: Counters, timelines: Timelines) {
    this.timelines = timelines;
    this.#metrics = metrics;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.timelines.close();
  }

  /** The counts of locations ten seconds apart, oldest first. */
  get tallies(): readonly KeptTally[] {
    return this.#tallies;
  }

  /** Returns the time when a request to a location was last noticed. */
  lastHit(key: string): number | undefined {
    return this.#lastHits.get(key);
  }

  #sample(): void {
    const families = this.#metrics.read();
    const atMs = Date.now();
    const tally = tallyOf(families);
    this.#noteHits(tally, atMs);
    this.timelines.add(() => {
      const connections = valueOf(families, 'nginx_connections_active');
      return { atMs, ...sumOf(tally), connections, locations: outcomesOf(tally) };
    });
    if (this.#samples++ % TALLY_EVERY === 0) {
      this.#tallies.push({ atMs, tally });
      if (this.#tallies.length > MAX_TALLIES) this.#tallies.shift();
    }
  }

  #noteHits(tally: Tally, atMs: number): void {
    if (this.#before) {
      for (const [key, counted] of tally) {
        const before = this.#before.get(key);
        if (!before || requestsOf(before) !== requestsOf(counted)) this.#lastHits.set(key, atMs);
      }
    }
    this.#before = tally;
  }
}

/** Returns requests and failures of the locations that there is room for. */
function outcomesOf(tally: Tally): Sample['locations'] {
  const outcomes = [...tally].map(([key, { codes }]) => {
    let errors = 0;
    for (const [code, count] of codes) if (code.startsWith('5')) errors += count;
    return [key, { requests: requestsOf({ codes }), errors }] as const;
  });
  const first = outcomes.toSorted(([, a], [, b]) => b.errors - a.errors || b.requests - a.requests);
  return new Map(first.slice(0, MOST_LOCATIONS));
}

/** Adds up the counts of all locations. */
function sumOf(tally: Tally): Pick<Moment, 'classes' | 'buckets' | 'bytes'> {
  const classes = Array.from({ length: CLASSES }, () => 0);
  const buckets: number[] = [];
  let bytes = 0;
  for (const counted of tally.values()) {
    for (const [code, count] of counted.codes) {
      const index = Number(code[0]) - 1;
      if (index in classes) (classes[index] as number) += count;
    }
    for (const [index, count] of counted.buckets.entries()) buckets[index] = (buckets[index] ?? 0) + count;
    bytes += counted.bytes;
  }
  return { classes, buckets, bytes };
}

const TEXT_KEY = 'control console configuration';

/** The resources of the console in one worker. */
export interface ConsoleResources {
  readonly history: History;
  readonly peerTimes: PeerTimes;
  readonly text: ConfigText;
}

/** Runs in the master: passes the text of the configuration to the workers, which do not read files. */
export function prepareConsole(master: MasterScope): void {
  master.provide(TEXT_KEY, master.configText());
}

/** Starts to sample the counters and to keep the error log, shared by all configurations with a console. */
export function openConsole(worker: WorkerScope): ConsoleResources {
  const tail = openRing(worker.zone(LOG_TAIL.name), worker.workerId);
  const hearLog = (): (() => void) =>
    worker.logListeners.add((level, text) => keepErrorLine(tail, level, text));
  worker.share('control console log', hearLog, (end) => end());
  const history = worker.share(
    'control console history',
    () => new History(worker.metrics, new Timelines(worker)),
    (opened) => opened.close(),
  );
  const peerTimes = worker.share(
    'control console peers',
    () => new PeerTimes(),
    (opened) => opened.close(),
  );
  peerTimes.use(worker.upstreams.groups);
  return { history, peerTimes, text: worker.provided(TEXT_KEY) as ConfigText };
}
