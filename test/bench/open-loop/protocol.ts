import type { HttpRequest } from '../target.ts';

/** What the generator is to do; the argument of its program, as JSON. */
export interface OpenLoad {
  readonly port: number;
  readonly requests: readonly HttpRequest[];
  /** Requests per second, which come as independent clients send them: gaps are exponentially distributed. */
  readonly rate: number;
  readonly seconds: number;
  /** Before the measurement. */
  readonly warmUpSeconds: number;
  readonly connections: number;
}

/** Milliseconds. */
export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

/** What the generator saw; its standard output, as JSON. */
export interface OpenResult {
  readonly done: number;
  /** From the time at which a request was due until the end of its response. */
  readonly latency: Quantiles;
  /** From the time at which a request was due until it was sent. */
  readonly late: Quantiles;
  /** CPU time of the generator for one request. */
  readonly cpuSeconds: number;
}
