import type { LoadFault } from '../contract/index.ts';
import {
  type CounterMemory,
  Counters,
  createCounterMemory,
  type Gauge,
  leaveCounters,
  type Metric,
  withRows,
} from '../zone/index.ts';
import { RESTARTS } from '../worker/index.ts';

/** The row of the master. */
const MASTER = 0;

const BUILD: Metric = { name: 'gw_build_info', help: 'Version of the gateway and of Node.js; always 1.' };
const SUPERVISOR: Metric = {
  name: 'gw_supervisor_info',
  help: 'Version of the supervisor, which an upgrade does not replace; always 1.',
};
const STARTED: Metric = {
  name: 'process_start_time_seconds',
  help: 'When the process started, since the epoch.',
};
const RELOAD_GOOD: Metric = {
  name: 'gw_config_last_reload_successful',
  help: 'Whether the last configuration that was loaded is the one that serves.',
};
const RELOADED: Metric = {
  name: 'gw_config_last_reload_success_timestamp_seconds',
  help: 'When the configuration that serves was loaded, since the epoch.',
};
const FINDINGS: Metric = { name: 'gw_check_findings', help: 'What the last load found, by severity.' };

interface ProcessFacts {
  /** Maximum number of series. */
  readonly maxSeries: number;
  /** `metrics_buckets`. */
  readonly buckets: readonly number[] | undefined;
  readonly version: string;
  /** The version of the supervisor, if there is one. */
  readonly supervisor: string | undefined;
}

/** The metrics of the process: their shared memory, and the values that only the master knows. */
export class ProcessMetrics {
  readonly #counters: Counters;
  readonly #reloadGood: Gauge;
  readonly #reloaded: Gauge;
  #memory: CounterMemory;

  constructor({ maxSeries, buckets, version, supervisor }: ProcessFacts) {
    this.#memory = createCounterMemory(maxSeries, 1, buckets);
    this.#counters = new Counters(this.#memory, MASTER);
    this.#counters.gauge(BUILD, { version, node: process.versions.node }).set(1);
    if (supervisor !== undefined) this.#counters.gauge(SUPERVISOR, { version: supervisor }).set(1);
    this.#counters.gauge(STARTED).set(Math.round(performance.timeOrigin) / 1000);
    this.#reloadGood = this.#counters.gauge(RELOAD_GOOD);
    this.#reloaded = this.#counters.gauge(RELOADED);
  }

  /** Returns the memory, with a row for each worker id up to the largest possible one. */
  memoryFor(largestId: number): CounterMemory {
    return (this.#memory = withRows(this.#memory, largestId + 1));
  }

  /** Records that a configuration was accepted or refused. */
  loaded(isGood: boolean): void {
    this.#reloadGood.set(isGood ? 1 : 0);
    if (isGood) this.#reloaded.set(Date.now() / 1000);
  }

  /** Records the number of faults of a load. */
  found(faults: readonly LoadFault[]): void {
    for (const wanted of ['emerg', 'warn', 'notice'] as const) {
      const count = faults.filter(({ severity }) => severity === wanted).length;
      this.#counters.gauge(FINDINGS, { severity: wanted }).set(count);
    }
  }

  workerExited(workerId: number, isAccident: boolean): void {
    leaveCounters(this.#memory, workerId);
    if (isAccident) this.#counters.counter(RESTARTS, { worker: String(workerId) }).add();
  }
}
