import type { SharedLimits } from '../cluster/index.ts';
import type { Endpoint } from '../redis/index.ts';

/** The directives of a `cluster` block, and those about clusters in `http`. */
export interface ClusterConfig {
  readonly backend?: Endpoint;
  readonly nodeId?: string;
  readonly namespace: string;
  readonly secret?: string;
  readonly retain: number;
  readonly bufferBytes: number;
  readonly batchMs: number;
  readonly heartbeatMs: number;
  readonly timeoutMs: number;
  readonly limits: SharedLimits;
  readonly statePath?: string;
  readonly required: boolean;
}
