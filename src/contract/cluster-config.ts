import type { Backend, SharedLimits } from '../cluster/index.ts';
import type { Login } from '../redis/index.ts';
import type { FileName } from './ssl-config.ts';

/** The directives of a `cluster` block, and those about clusters in `http`. */
export interface ClusterConfig {
  readonly backend?: Backend;
  readonly sentinelLogin?: Login;
  readonly sslTrustedCertificate?: FileName;
  readonly sslCertificate?: FileName;
  readonly sslCertificateKey?: FileName;
  readonly sslName?: string;
  readonly sslVerify: boolean;
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
