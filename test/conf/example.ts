import type { Gateway } from '../harness/gateway.ts';
import type { Owner } from '../harness/owner.ts';

/** What a file of `conf/examples` needs, and what calls of it must show. */
export interface Example {
  readonly env?: (t: Owner) => Promise<Record<string, string>>;
  /** Beside the configuration: path → content. */
  readonly files?: Readonly<Record<string, string>>;
  readonly calls: (gw: Gateway) => Promise<void>;
}
