import { type Exemplar, Exemplars, type ObservedTrace } from './exemplars.ts';
import {
  CounterDirectory,
  type CounterMemory,
  type SeriesEntry,
  type Kind,
  type Labels,
  PRESENT,
  rowCells,
  type Scale,
  type Series,
} from './memory.ts';

/** A number in shared memory that only increases. Only the thread that opened it may use it. */
export class Counter {
  /** Its index in the row. */
  readonly at: number;
  protected readonly cells: Float64Array;

  constructor(cells: Float64Array, at: number) {
    this.cells = cells;
    this.at = at;
  }

  add(amount = 1): void {
    (this.cells[this.at] as number) += amount;
  }

  isIn(row: Float64Array): boolean {
    return this.cells === row;
  }
}

/** A number in shared memory that may increase and decrease. */
export class Gauge extends Counter {
  constructor(cells: Float64Array, at: number) {
    super(cells, at);
    cells[at + PRESENT] = 1;
  }

  set(value: number): void {
    this.cells[this.at] = value;
  }

  /** Removes the value. */
  clear(): void {
    this.cells[this.at] = 0;
    this.cells[this.at + PRESENT] = 0;
  }
}

/** Where a series is counted: the cells of a row, and the first of its own. */
type Cells = [cells: Float64Array, at: number];

/** Counts of values by size, and their sum, in shared memory. */
export class Histogram {
  readonly #cells: Float64Array;
  readonly #at: number;
  readonly #bounds: readonly number[];
  readonly #exemplars: Exemplars | undefined;

  constructor([cells, at]: Cells, bounds: readonly number[], exemplars: Exemplars | undefined) {
    this.#cells = cells;
    this.#at = at;
    this.#bounds = bounds;
    this.#exemplars = exemplars;
  }

  /** Counts a value. If its trace is sampled, it becomes the exemplar of the value's bucket. */
  observe(value: number, trace?: ObservedTrace): void {
    const cells = this.#cells;
    const at = this.#at;
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    (cells[at + bucket] as number) += 1;
    (cells[at + bounds.length + 1] as number) += value;
    if (trace?.sampled === true) this.#exemplars?.keep(at + bucket, value, trace);
  }
}

/** A metric's name and help. `untyped`: a counter whose name is not valid for counters of Prometheus. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly untyped?: true;
}

/** A metric with a histogram of values. */
export interface Distribution extends Metric {
  readonly scale: Scale;
}

/**
 * The value of one series over all threads. A histogram has its buckets (not cumulated) and their bounds besides its
 * sum.
 */
export interface MetricSample {
  readonly labels: Labels;
  readonly value: number;
  readonly buckets?: readonly number[];
  readonly bounds?: readonly number[];
  /** For each bucket the latest sampled trace, if there is one and they were asked for. */
  readonly exemplars?: readonly (Exemplar | undefined)[] | undefined;
}

/** All series of a metric. */
export interface MetricFamily extends Metric {
  readonly kind: Kind;
  readonly samples: readonly MetricSample[];
}

/** Returns the current value of a gauge. */
type Sampler = () => number;

interface Sampled {
  readonly gauge: Gauge;
  readonly samplers: Set<Sampler>;
}

/** The series of a gauge, as they are now. */
interface Source {
  readonly metric: Metric;
  readonly read: () => readonly MetricSample[];
}

interface Collected {
  readonly series: Series;
  readonly read: Sampler;
}

/**
 * The metrics of the process as one thread sees them. Each thread counts in its own row and reads the sum of all rows.
 * The same name with the same labels is the same series in every thread and configuration.
 */
export class Counters {
  readonly #directory: CounterDirectory;
  readonly #mine: Float64Array;
  readonly #sampled = new Map<string, Sampled>();
  readonly #collected = new Map<string, Collected>();
  readonly #sources = new Set<Source>();
  readonly #exemplars: Exemplars | undefined;
  #tables: readonly Exemplars[];
  #rows: readonly Float64Array[];

  constructor(memory: CounterMemory, threadId: number) {
    this.#directory = new CounterDirectory(memory.directory, threadId);
    this.#rows = memory.rows.map((row) => new Float64Array(row));
    this.#tables = memory.exemplars.map((table) => new Exemplars(table));
    this.#exemplars = this.#tables[threadId];
    const mine = this.#rows[threadId];
    if (!mine || mine.length !== rowCells(memory.directory))
      throw new RangeError(`thread ${threadId} has no row for its counters`);
    this.#mine = mine;
  }

  /** Adds the rows of threads that started later. */
  use({ rows, exemplars }: CounterMemory): void {
    this.#rows = rows.map((row) => new Float64Array(row));
    this.#tables = exemplars.map((table) => new Exemplars(table));
  }

  counter(metric: Metric, labels: Labels = {}): Counter {
    const kind = metric.untyped ? 'untyped' : 'counter';
    return new Counter(...this.#cells({ ...metric, labels, kind, scale: 'seconds' }));
  }

  histogram(metric: Distribution, labels: Labels = {}): Histogram {
    const cells = this.#cells({ ...metric, labels, kind: 'histogram' });
    const exemplars = cells[0] === this.#mine ? this.#exemplars : undefined;
    return new Histogram(cells, this.#directory.boundsOf(metric.scale), exemplars);
  }

  /** A value that this thread sets; its total is the sum over all threads. */
  gauge(metric: Metric, labels: Labels = {}): Gauge {
    return new Gauge(...this.#cells({ ...metric, labels, kind: 'gauge', scale: 'seconds' }));
  }

  /**
   * Registers a gauge that is read at each heartbeat. Several with the same name and labels add up. Returns the
   * function that ends it.
   */
  sample(metric: Metric, labels: Labels, sampler: Sampler): () => void {
    const key = JSON.stringify([metric.name, labels]);
    const sampled = this.#sampled.get(key) ?? { gauge: this.gauge(metric, labels), samplers: new Set() };
    this.#sampled.set(key, sampled);
    sampled.samplers.add(sampler);
    return () => {
      sampled.samplers.delete(sampler);
      if (sampled.samplers.size > 0) return;
      sampled.gauge.clear();
      this.#sampled.delete(key);
    };
  }

  /**
   * Registers a metric of the whole process. It is read by the thread that serves the metrics, and neither stored in a
   * row nor added up. Returns the function that ends it.
   */
  collect(kind: 'counter' | 'gauge', { metric, labels = {}, read }: CollectOptions): () => void {
    const collected: Collected = { series: { ...metric, labels, kind, scale: 'seconds' }, read };
    const key = JSON.stringify([metric.name, labels]);
    this.#collected.set(key, collected);
    return () => {
      if (this.#collected.get(key) === collected) this.#collected.delete(key);
    };
  }

  /**
   * Registers a gauge that has a series for each thing that there is when it is read, otherwise as `collect` does. Several
   * sources of one gauge may have the same things. Returns the function that ends it.
   */
  collectSeries(metric: Metric, read: Source['read']): () => void {
    const source = { metric, read };
    this.#sources.add(source);
    return () => void this.#sources.delete(source);
  }

  /** Reads all samplers. */
  refresh(): void {
    for (const { gauge, samplers } of this.#sampled.values()) {
      let sum = 0;
      for (const sampler of samplers) sum += sampler();
      gauge.set(sum);
    }
  }

  /** Returns the sum of one series over all threads. */
  total(meter: Counter): number {
    return meter.isIn(this.#mine) ? this.#sum(meter.at) : 0;
  }

  /** Returns all metrics by name; the exemplars of histograms if they are asked for. */
  read({ exemplars = false }: { readonly exemplars?: boolean } = {}): readonly MetricFamily[] {
    this.refresh();
    const kept = exemplars ? this.#keptExemplars() : undefined;
    const families = new Map<string, Family>();
    const add = (series: Series, sample: MetricSample | undefined): void => {
      if (!sample) return;
      const { name, help, kind } = series;
      const family = families.get(name) ?? { name, help, kind, samples: [] };
      families.set(name, family);
      family.samples.push(sample);
    };
    for (const entry of this.#directory.entries()) add(entry, this.#sampleOf(entry, kept));
    for (const { series, read } of this.#collected.values())
      add(series, { labels: series.labels, value: read() });
    for (const { metric, read } of this.#sources) {
      const samples = families.get(metric.name)?.samples ?? [];
      const known = new Set(samples.map(({ labels }) => JSON.stringify(labels)));
      for (const sample of read())
        if (!known.has(JSON.stringify(sample.labels)))
          add({ ...metric, kind: 'gauge', labels: sample.labels, scale: 'seconds' }, sample);
    }
    return [...families.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  #keptExemplars(): ReadonlyMap<number, Exemplar> {
    const kept = new Map<number, Exemplar>();
    for (const table of this.#tables) table.collect(kept);
    return kept;
  }

  #sampleOf(
    { cell: first, kind, labels, scale }: SeriesEntry,
    kept: ReadonlyMap<number, Exemplar> | undefined,
  ): MetricSample | undefined {
    if (kind === 'gauge' && !this.#rows.some((row) => row[first + PRESENT] === 1)) return undefined;
    if (kind !== 'histogram') return { labels, value: this.#sum(first) };
    const bounds = this.#directory.boundsOf(scale);
    const buckets = Array.from({ length: bounds.length + 1 }, (_, bucket) => this.#sum(first + bucket));
    const exemplars = kept && buckets.map((_, bucket) => kept.get(first + bucket));
    return { labels, value: this.#sum(first + bounds.length + 1), buckets, bounds, exemplars };
  }

  #sum(cell: number): number {
    let sum = 0;
    for (const row of this.#rows) sum += row[cell] as number;
    return sum;
  }

  /** Returns where this thread counts a series: in its row, or in private memory if there is no room. */
  #cells(series: Series): Cells {
    const cell = this.#directory.cellOf(series);
    if (cell !== undefined) return [this.#mine, cell];
    return [new Float64Array(this.#directory.cellsOf(series)), 0];
  }
}

/** The arguments of `collect`. */
interface CollectOptions {
  readonly metric: Metric;
  readonly labels?: Labels;
  readonly read: () => number;
}

interface Family extends Metric {
  readonly kind: Kind;
  readonly samples: MetricSample[];
}
