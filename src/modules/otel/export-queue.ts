import type { ErrorLog, Level } from '../../log/index.ts';
import type { Counter } from '../../zone/index.ts';
import type { Collector, SendOutcome } from './collector.ts';
import type { Encoding } from './records.ts';
import type { Signal } from './endpoint.ts';

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

/** Tries of a batch that the collector may take later. */
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
  #records: Uint8Array[] = [];
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
    const waiting = this.#records.length + this.#sending.records;
    return waiting < this.#mostRecords && this.#bytes + this.#sending.bytes < this.#parts.limits.queueBytes;
  }

  add(record: Uint8Array): void {
    this.#records.push(record);
    this.#bytes += record.length;
    if (this.#records.length >= this.#parts.limits.batchSize) void this.#begin();
  }

  /** Sends what waits, without waiting for a full batch. */
  flush(): void {
    if (this.#records.length > 0) void this.#begin();
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
    const left = this.#records.length + this.#sending.records;
    this.#records = [];
    if (left === 0) return;
    this.#parts.counters.failed.add(left);
    this.#tell('error', `records that could not be sent before the end: ${left}`);
  }

  async #finish(): Promise<void> {
    await this.#pump;
    while (this.#records.length > 0) await this.#begin();
  }

  #begin(): Promise<void> {
    return (this.#pump ??= this.#run().finally(() => {
      this.#pump = undefined;
      if (this.#records.length >= this.#parts.limits.batchSize && !this.#isClosing) void this.#begin();
    }));
  }

  async #run(): Promise<void> {
    const batch = this.#records.splice(0, this.#parts.limits.batchSize);
    const bytes = batch.reduce((sum, record) => sum + record.length, 0);
    this.#bytes -= bytes;
    this.#sending = { records: batch.length, bytes };
    const { counters, encoding, signal } = this.#parts;
    const outcome = await this.#send(encoding.message(signal, batch));
    this.#sending = { records: 0, bytes: 0 };
    if (outcome.kind !== 'taken') {
      counters.failed.add(batch.length);
      return this.#tellFailure(outcome.reason);
    }
    const { count, message } = encoding.rejection(signal, outcome.body);
    const rejected = Math.min(count, batch.length);
    counters.exported.add(batch.length - rejected);
    counters.failed.add(rejected);
    if (rejected > 0) this.#tellFailure(`the collector rejected ${rejected} records${said(message)}`);
    else if (message !== '') this.#tellFailure(`the collector warned${said(message)}`);
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

const MOST_SAID = 200;

function said(message: string): string {
  return message === '' ? '' : `: ${message.slice(0, MOST_SAID)}`;
}

function failure(error: unknown): SendOutcome {
  return { kind: 'refused', reason: error instanceof Error ? error.message : String(error) };
}
