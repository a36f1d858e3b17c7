import type { ComplexValue } from '../../config/index.ts';
import type { AllowedHost } from '../../upstream/index.ts';
import type { KvAddress } from './address.ts';
import type { CommandName } from './commands.ts';

/** A store that the configuration names, or one that each request names. */
export type KvPass = KvAddress | { readonly kind: 'variable'; readonly value: ComplexValue };

/** What `kv_*` says for one location. */
export interface KvConfig extends StoreSettings {
  readonly pass?: KvPass;
  /** Hosts that variables in `pass` may name; absent: any but this machine's where clients fill them. */
  readonly allowHosts?: readonly (readonly AllowedHost[])[];
  /** Absent: the URI without its leading slash. */
  readonly key?: ComplexValue;
  readonly command: CommandName;
}

/** How connections to a store behave; stores are shared between locations that agree on it. */
export interface StoreSettings {
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Multiplexed connections per worker and address. */
  readonly connections: number;
  /** False: one command in flight per connection. */
  readonly pipelining: boolean;
  /** Bytes of a request body or of a reply's values. */
  readonly maxValueBytes: number;
}
