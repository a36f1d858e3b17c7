import type { Exchange } from '../../../http/index.ts';
import type { ResponseHead, UpstreamFault } from '../../../client/index.ts';
import type { BodyTaker, Source } from '../relay.ts';

/** The upstream's side of a response that may be stored. */
export interface StoredSource extends Source {
  /** Gives up the request: nobody needs the response any more. */
  withdraw(): void;
}

/** Decides about the response to a request whose location has a cache. */
export interface ResponseKeeper {
  /** Gives what takes the body; `undefined`: it is not needed. */
  take(x: Exchange, head: ResponseHead, source: StoredSource): BodyTaker | undefined;
  /** There is no response. True: a stale one was served instead. */
  fails(status: 502 | 504, why: UpstreamFault['kind']): boolean;
  /** There is no response, and nobody waits for one. */
  drop(): void;
}
