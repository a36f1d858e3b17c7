import type { Exchange } from '../../http/index.ts';
import type { KeysOrFault } from '../../issuer/index.ts';

/** Where keys of a location come from: a file, a URL, a subrequest. */
export interface KeyOrigin {
  /** Set if the keys depend on the request. */
  readonly isOfRequest?: true;
  /** The keys that are known now. */
  known(x: Exchange, nowMs: number): KeysOrFault;
  /** Asks for keys: for `all` if none are known, or for `one` that a token names. `undefined`: there is nothing to wait for. */
  ask?(x: Exchange, missing: 'all' | 'one'): Promise<void> | undefined;
}
