import type { ForwardingConfig, ParamConfig, PassAddress } from '../../forwarding/index.ts';

/** `scgi_*` of one location. */
export interface ScgiConfig extends ForwardingConfig {
  readonly pass?: PassAddress;
  readonly params?: readonly ParamConfig[];
}
