import type { ForwardingConfig, ParamConfig, PassAddress } from '../../forwarding/index.ts';
import type { RegexConfig } from '../../contract/index.ts';

/** `fastcgi_*` of one location. */
export interface FastcgiConfig extends ForwardingConfig {
  readonly pass?: PassAddress;
  readonly params?: readonly ParamConfig[];
  /** The text that is appended to a `$fastcgi_script_name` with a trailing slash; may be ''. */
  readonly index: string;
  readonly splitPathInfo?: RegexConfig;
  readonly keepsConnection: boolean;
  readonly catchStderr?: readonly string[];
}
