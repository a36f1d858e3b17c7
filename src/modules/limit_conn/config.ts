import type { ComplexValue } from '../../config/index.ts';

/** `limit_conn_zone key zone=name:size`. */
export interface ConnZoneConfig {
  readonly name: string;
  readonly sizeBytes: number;
  readonly key: ComplexValue;
  /** As it was written. */
  readonly keyText: string;
}

/** `limit_conn zone number`. */
export interface ConnLimitConfig {
  readonly zone: string;
  readonly maxRequests: number;
}

/** Connection limits of one location. */
export interface LimitConnConfig {
  readonly zones?: readonly ConnZoneConfig[];
  readonly limits?: readonly ConnLimitConfig[];
  readonly status: number;
  readonly logLevel: 'info' | 'notice' | 'warn' | 'error';
  readonly dryRun: boolean;
}
