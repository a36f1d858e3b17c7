import { getHeapStatistics } from 'node:v8';
import type { Counters, Gauge, Metric } from '../zone/index.ts';

const LAG: Metric = {
  name: 'gw_worker_eventloop_lag_seconds',
  help: 'How much later than planned the event loop of a worker came to its last heartbeat.',
};
const HEAP: Metric = { name: 'gw_worker_heap_bytes', help: 'JavaScript heap that a worker uses.' };
const MEMORY: Metric = { name: 'process_resident_memory_bytes', help: 'Memory of the process.' };
const CPU: Metric = { name: 'process_cpu_seconds_total', help: 'CPU time of the process.' };

/** What a worker measures of itself at each heartbeat. */
export class Vitals {
  readonly #metrics: Counters;
  readonly #everyMs: number;
  readonly #lag: Gauge;
  #lastMs = performance.now();

  constructor(metrics: Counters, { workerId, everyMs }: { workerId: number; everyMs: number }) {
    const worker = { worker: String(workerId) };
    this.#metrics = metrics;
    this.#everyMs = everyMs;
    this.#lag = metrics.gauge(LAG, worker);
    metrics.sample(HEAP, worker, () => getHeapStatistics().used_heap_size);
    metrics.collect('gauge', { metric: MEMORY, read: () => process.memoryUsage.rss() });
    metrics.collect('counter', { metric: CPU, read: cpuSeconds });
  }

  beat(): void {
    const now = performance.now();
    this.#lag.set(Math.max(0, now - this.#lastMs - this.#everyMs) / 1000);
    this.#lastMs = now;
    this.#metrics.refresh();
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
