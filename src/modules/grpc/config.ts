import type { TlsConfig } from '../../client/index.ts';
import type { HeaderRule } from '../../contract/index.ts';
import type { PassAddress, ShownHeadersConfig, TryingConfig } from '../../forwarding/index.ts';

/** `grpc_*` of one location. */
export interface GrpcConfig extends TryingConfig, TlsConfig, ShownHeadersConfig {
  readonly pass?: PassAddress;
  readonly setHeaders?: readonly HeaderRule[];
}
