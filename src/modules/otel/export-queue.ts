import type { ErrorLog, Level } from '../../log/index.ts';
import type { Counter } from '../../zone/index.ts';
import { type Collector, quotation, type SendOutcome } from './collector.ts';
import type { Encoding } from './records.ts';
import type { Signal } from './endpoint.ts';
import { RecordBatch } from './record-batch.ts';

/** How many records wait, and for how long. */
interface QueueLimits {
  readonly intervalMs: number;
  readonly batchSize: number;
  readonly batchCount: number;
  readonly queueBytes: number;
}

/** What happened to records. */
export interface RecordCounters {
  readonly exported: Counter;
  /** There was no room for them. */
  readonly dropped: Counter;
  /** They were sent, and the collector has not taken them. */
  readonly failed: Counter;
}

interface QueueParts {
  readonly signal: Signal;
  readonly limits: QueueLimits;
  readonly encoding: Encoding;
  readonly collector: Collector;
  readonly counters: RecordCounters;
  readonly log: ErrorLog;
}

/** How often a batch is sent that the collector may take later. */
const MOST_TRIES = 5;
const FIRST_PAUSE_MS = 1_000;
/** Longest pause that a collector can ask for. */
const LONGEST_PAUSE_MS = 60_000;
const TOLD_EVERY_MS = 1_000;

/**
 * The records of one signal that wait for the collector in one worker. One request is under way at a time. A record for
 * which there is no room is dropped and counted: nothing waits for the collector.
 */
export class ExportQueue {
  readonly #parts: QueueParts;
  readonly #mostRecords: number;
  readonly #timer: NodeJS.Timeout;
  /** The batch that is being filled, and those before it, which are full. */
  #filling = new RecordBatch();
  #full: RecordBatch[] = [];
  /** For the next batch. */
  #spare: RecordBatch | undefined;
  /** Records and bytes in these batches. */
  #records = 0;
  #bytes = 0;
  /** Records and bytes of the batch that is being sent. */
  #sending = { records: 0, bytes: 0 };
  #pump: Promise<void> | undefined;
  #isClosing = false;
  #endPause: (() => void) | undefined;
  #dropped = 0;
  #dropToldMs = -Infinity;
  #failureToldMs = -Infinity;

  constructor(parts: QueueParts) {
    this.#parts = parts;
    const { intervalMs, batchSize, batchCount } = parts.limits;
    this.#mostRecords = batchSize * batchCount;
    this.#timer = setInterval(() => this.flush(), intervalMs).unref();
  }

  /** True if a record may be added. If not, the caller must not encode it, and counts it with `drop`. */
  get hasRoom(): boolean {
    const waiting = this.#records + this.#sending.records;
    return waiting < this.#mostRecords && this.#bytes + this.#sending.bytes < this.#parts.limits.queueBytes;
  }

  /** Adds a record, which `encode` writes to the batch. */
  add(encode: (batch: RecordBatch) => void): void {
    const batch = this.#filling;
    const before = batch.length;
    encode(batch);
    this.#records++;
    this.#bytes += batch.length - before;
    if (batch.count < this.#parts.limits.batchSize) return;
    this.#full.push(batch);
    this.#filling = this.#spare ?? new RecordBatch();
    this.#spare = undefined;
    void this.#begin();
  }

  /** Sends what waits, without waiting for a full batch. */
  flush(): void {
    if (this.#records > 0) void this.#begin();
  }

  drop(): void {
    this.#parts.counters.dropped.add();
    this.#dropped++;
    const nowMs = performance.now();
    if (nowMs - this.#dropToldMs < TOLD_EVERY_MS) return;
    this.#dropToldMs = nowMs;
    this.#tell('notice', `dropped records: ${this.#dropped}`);
  }

  /** Sends what waits, for `graceMs` at most. What is left then has failed. */
  async close(graceMs: number): Promise<void> {
    clearInterval(this.#timer);
    this.#isClosing = true;
    this.#endPause?.();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([this.#finish(), late]);
    clearTimeout(timer);
    const left = this.#records + this.#sending.records;
    this.#full = [];
    this.#filling.clear();
    this.#records = this.#bytes = 0;
    if (left === 0) return;
    this.#parts.counters.failed.add(left);
    this.#tell('error', `records that could not be sent before the end: ${left}`);
  }

  async #finish(): Promise<void> {
    await this.#pump;
    while (this.#records > 0) await this.#begin();
  }

  #begin(): Promise<void> {
    return (this.#pump ??= this.#run().finally(() => {
      this.#pump = undefined;
      if (this.#full.length > 0 && !this.#isClosing) void this.#begin();
    }));
  }

  async #run(): Promise<void> {
    const { counters, encoding, signal } = this.#parts;
    const batch = this.#full.shift() ?? this.#filling;
    const { count: records, length: bytes } = batch;
    const message = encoding.message(signal, batch);
    batch.clear();
    if (batch !== this.#filling) this.#spare = batch;
    this.#records -= records;
    this.#bytes -= bytes;
    this.#sending = { records, bytes };
    const outcome = await this.#send(message);
    this.#sending = { records: 0, bytes: 0 };
    if (outcome.kind !== 'taken') {
      counters.failed.add(records);
      return this.#tellFailure(outcome.reason);
    }
    const { count, message: reason } = encoding.rejection(signal, outcome.body);
    const rejected = Math.min(count, records);
    counters.exported.add(records - rejected);
    counters.failed.add(rejected);
    if (rejected > 0) this.#tellFailure(`the collector rejected ${rejected} records${quotation(reason)}`);
    else if (reason !== '') this.#tellFailure(`the collector warned${quotation(reason)}`);
  }

  async #send(message: Uint8Array): Promise<SendOutcome> {
    const { collector, encoding, limits, signal } = this.#parts;
    for (let tries = 1; ; tries++) {
      const outcome = await collector.send(signal, encoding.contentType, message).catch(failure);
      if (outcome.kind !== 'later' || tries >= MOST_TRIES || this.#isClosing) return outcome;
      this.#tellFailure(outcome.reason);
      const usualMs = Math.min(limits.intervalMs, FIRST_PAUSE_MS * 2 ** (tries - 1));
      await this.#pause(Math.min(outcome.afterMs ?? usualMs, LONGEST_PAUSE_MS));
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #tellFailure(reason: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#failureToldMs < TOLD_EVERY_MS) return;
    this.#failureToldMs = nowMs;
    this.#tell('error', `export failure: ${reason}`);
  }

  #tell(level: Level, text: string): void {
    this.#parts.log.write(level, `OTel ${this.#parts.signal}: ${text}`);
  }
}

function failure(error: unknown): SendOutcome {
  return { kind: 'refused', reason: error instanceof Error ? error.message : String(error) };
}
