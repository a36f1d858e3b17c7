import type { HttpRequest, Traffic } from '../target.ts';

/** What the generator is to do; the argument of its program, as JSON. */
export interface Load {
  readonly port: number;
  readonly traffic: Traffic;
  readonly requests: readonly HttpRequest[];
  /**
   * Requests per second, which come as independent clients send them: gaps are exponentially distributed. Without a
   * rate, each lane sends a request when it has the response to the one before.
   */
  readonly rate?: number;
  readonly seconds: number;
  /** Before the measurement. */
  readonly warmUpSeconds: number;
  /** Requests that may be under way at the same time. */
  readonly lanes: number;
}

/** Milliseconds. */
export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

/** What the generator saw; its standard output, as JSON. */
export interface LoadResult {
  readonly done: number;
  /** From the time at which a request was due until the end of its response. */
  readonly latency: Quantiles;
  /** From the time at which a request was due until it was sent. */
  readonly late: Quantiles;
  /** CPU time of the generator for one request. */
  readonly cpuSeconds: number;
}
