import type { TlsConfig } from '../../client/index.ts';
import type { ForwardingConfig, ParamConfig, PassAddress } from '../../forwarding/index.ts';

/** `uwsgi_*` of one location. */
export interface UwsgiConfig extends ForwardingConfig, TlsConfig {
  readonly pass?: PassAddress;
  readonly params?: readonly ParamConfig[];
  /** The numbers that tell the server how to serve a request; 0, 0: as a WSGI application. */
  readonly modifier1: number;
  readonly modifier2: number;
  /** What follows the parameters. */
  readonly string: string;
}
