import { PRESENT } from './memory.ts';

/** A number in shared memory that only grows; only the thread that opened it may use it. */
export class Counter {
  /** Its place in the row. */
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

/** A number in shared memory that goes up and down. */
export class Gauge extends Counter {
  constructor(cells: Float64Array, at: number) {
    super(cells, at);
    cells[at + PRESENT] = 1;
  }

  set(value: number): void {
    this.cells[this.at] = value;
  }

  /** There is no such value any more. */
  clear(): void {
    this.cells[this.at] = 0;
    this.cells[this.at + PRESENT] = 0;
  }
}

/** Counts of values by size, in shared memory, and their sum. */
export class Histogram {
  private readonly cells: Float64Array;
  private readonly at: number;
  private readonly bounds: readonly number[];

  constructor(cells: Float64Array, at: number, bounds: readonly number[]) {
    this.cells = cells;
    this.at = at;
    this.bounds = bounds;
  }

  observe(value: number): void {
    const { cells, at, bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    (cells[at + bucket] as number) += 1;
    (cells[at + bounds.length + 1] as number) += value;
  }
}
