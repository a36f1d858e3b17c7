import type { Gateway } from '../harness/gateway.ts';
import type { Owner } from '../harness/owner.ts';

/** What a file of `conf/examples` needs, and the expected results of calls. */
export interface Example {
  readonly env?: (t: Owner, port: number) => Promise<Record<string, string>>;
  /** A variable has the port of the gateway. */
  readonly hasOwnPort?: boolean;
  /** Files beside the configuration: path → content. */
  readonly files?: Readonly<Record<string, string>>;
  readonly calls: (gw: Gateway) => Promise<void>;
}
