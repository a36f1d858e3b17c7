/**
 * A load generator. With a rate it sends requests when they are due, and not when the server is done with others. The latency
 * of a request counts from when it was due: a server that stalls makes all requests late that are due meanwhile.
 */
import { Worker } from 'node:worker_threads';
import { type Lane, LANES } from './lanes/index.ts';
import type { Load, LoadResult, Quantiles } from './protocol.ts';

/**
 * Node's own timers know whole milliseconds. This thread sleeps until the time that stands in the shared cell, at least
 * a fifth of a millisecond, and then wakes the loop if it is not awake already.
 */
const PACEMAKER = `
  const { parentPort, workerData: { flag, due } } = require('node:worker_threads');
  for (;;) {
    Atomics.wait(flag, 1, 0, Math.max(0.2, due[0] - performance.timeOrigin - performance.now()));
    if (Atomics.exchange(flag, 0, 1) === 0) parentPort.postMessage(0);
    else Atomics.wait(flag, 0, 1, 1);
  }`;

/** After the last request was due, so long may responses take. */
const LONGEST_MS = 10_000;

class Generator {
  readonly #load: Load;
  readonly #free: Lane[] = [];
  /** Times at which requests were due that are not sent yet. */
  readonly #due: number[] = [];
  readonly #latencies: number[] = [];
  readonly #late: number[] = [];
  readonly #startMs = performance.now() + 100;
  readonly #endMs: number;
  #nextMs = this.#startMs;
  /** CPU time at the end of the warm-up. */
  #cpuBefore: NodeJS.CpuUsage | undefined;
  #underWay = 0;
  #turn = 0;

  constructor(load: Load) {
    this.#load = load;
    this.#endMs = this.#startMs + (load.warmUpSeconds + load.seconds) * 1_000;
    LANES[load.traffic](load, { opened: (lane) => void this.#free.push(lane), failed: fail });
  }

  /** Sends what is due. True when all that is ever due has its response. */
  tick(): boolean {
    const nowMs = performance.now();
    while (this.#nextMs <= nowMs && this.#nextMs < this.#endMs) this.#plan();
    this.#send();
    if (nowMs > this.#endMs + LONGEST_MS)
      fail(`${this.#underWay + this.#due.length} requests got no response`);
    return nowMs >= this.#endMs && this.#due.length === 0 && this.#underWay === 0;
  }

  /** When the next request is due. */
  get nextMs(): number {
    return this.#nextMs;
  }

  result(): LoadResult {
    const { user, system } = process.cpuUsage(this.#cpuBefore);
    const done = this.#latencies.length;
    return {
      done,
      latency: quantiles(this.#latencies),
      late: quantiles(this.#late),
      cpuSeconds: (user + system) / 1e6 / done,
    };
  }

  /** Plans the next request; without a rate the first one of each lane, whose response plans the next one. */
  #plan(): void {
    const { rate, lanes } = this.#load;
    if (rate === undefined) {
      for (let lane = 0; lane < lanes; lane++) this.#due.push(this.#nextMs);
      this.#nextMs = this.#endMs;
    } else {
      this.#due.push(this.#nextMs);
      this.#nextMs += (-Math.log(1 - Math.random()) / rate) * 1_000;
    }
  }

  #send(): void {
    let sent = 0;
    while (sent < this.#due.length && this.#free.length > 0) {
      // All lanes in turns: servers close connections on which nothing is ever asked.
      this.#sendOne(this.#free.shift() as Lane, this.#due[sent++] as number);
    }
    if (sent > 0) this.#due.splice(0, sent);
  }

  #sendOne(lane: Lane, dueMs: number): void {
    const isMeasured = dueMs >= this.#startMs + this.#load.warmUpSeconds * 1_000;
    if (isMeasured) {
      this.#cpuBefore ??= process.cpuUsage();
      this.#late.push(performance.now() - dueMs);
    }
    this.#underWay += 1;
    lane.send(this.#turn++, () => {
      const nowMs = performance.now();
      if (isMeasured) this.#latencies.push(nowMs - dueMs);
      this.#underWay -= 1;
      this.#free.push(lane);
      if (this.#load.rate === undefined && nowMs < this.#endMs) this.#due.push(nowMs);
      if (this.#due.length > 0) this.#send();
    });
  }
}

function quantiles(values: readonly number[]): Quantiles {
  const sorted = Float64Array.from(values).sort();
  const at = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

const generator = new Generator(JSON.parse(process.argv[2] ?? '') as Load);
const flag = new Int32Array(new SharedArrayBuffer(8));
const due = new Float64Array(new SharedArrayBuffer(8));
new Worker(PACEMAKER, { eval: true, workerData: { flag, due } }).on('message', () => {
  const isDone = generator.tick();
  due[0] = performance.timeOrigin + generator.nextMs;
  Atomics.store(flag, 0, 0);
  Atomics.notify(flag, 0);
  if (!isDone) return;
  process.stdout.write(JSON.stringify(generator.result()), () => process.exit(0));
});
