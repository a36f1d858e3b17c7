import type { ComplexValue } from '../../config/index.ts';
import type { PassAddress, TryingConfig } from '../../forwarding/index.ts';

/** `memcached_*` of one location. */
export interface MemcachedConfig extends TryingConfig {
  readonly pass?: MemcachedPass;
  /** Values with one of these flags are sent as gzip; 0 for no value. */
  readonly gzipFlag: number;
}

/** `memcached_pass`. */
export interface MemcachedPass {
  readonly address: PassAddress;
  /** `$memcached_key`. */
  readonly key: ComplexValue;
}
