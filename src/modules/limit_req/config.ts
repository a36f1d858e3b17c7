import type { ComplexValue } from '../../config/index.ts';

/** `limit_req_zone key zone=name:size rate=rate`. */
export interface RateZoneConfig {
  readonly name: string;
  readonly sizeBytes: number;
  /** Thousandths of a request per second. */
  readonly ratePerSecond: number;
  readonly key: ComplexValue;
  /** As it was written. */
  readonly keyText: string;
}

/** `limit_req zone=name [burst=number] [nodelay | delay=number]`; all numbers in thousandths of requests. */
export interface RateLimitConfig {
  readonly zone: string;
  readonly burst: number;
  /** From how full on requests wait; `Infinity`: never. */
  readonly delay: number;
}

/** Request limits of one location. */
export interface LimitReqConfig {
  readonly zones?: readonly RateZoneConfig[];
  readonly limits?: readonly RateLimitConfig[];
  readonly status: number;
  readonly logLevel: 'info' | 'notice' | 'warn' | 'error';
  readonly dryRun: boolean;
}
