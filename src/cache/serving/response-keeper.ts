import type { Exchange } from '../../http/index.ts';
import type { ResponseHead, UpstreamFault } from '../../client/index.ts';
import type { BodyTaker, Pace, Source } from '../../bodies/index.ts';

/** What the origin of a response says about storing it. */
export interface Storing {
  /** The tags of the response; absent: its headers have them. */
  readonly tags?: readonly string[];
  /** How long a response with status 200 is fresh, in milliseconds; absent: its headers and the location say it. */
  readonly lifeMs?: number;
  /** Why it must not be stored, for the metrics. */
  readonly refusal?: string;
}

/** The origin of a response that may be stored. */
export interface StoredSource extends Source {
  /** What is known of the response besides its headers; to be asked when its head is there. */
  storing?(): Storing;
  /** Gives up the request: nobody needs the response any more. */
  withdraw(): void;
}

/** A response whose headers are set. */
export interface AcceptedResponse {
  readonly head: ResponseHead;
  readonly contentType: string;
  readonly source: Source;
  /** False: the client gets it as it comes, so it is not stored. */
  readonly isBuffered: boolean;
  /** Bytes that are kept for a slow client before the origin is paused. */
  readonly readAheadBytes: number;
  /** How fast the origin is read. */
  readonly pace: Pace;
}

/** Decides what a client gets for a response: the response itself, or something else of this server. */
export interface Delivery {
  /** True: the client gets an error page instead of this response of the origin. */
  intercepts?(x: Exchange, head: ResponseHead): boolean;
  /** Sets the headers of the response; `undefined`: it leads the request elsewhere. */
  accept(x: Exchange, head: ResponseHead, source: Source): AcceptedResponse | undefined;
  /** Passes on a response that is not stored: gives what takes its body. */
  pass(x: Exchange, accepted: AcceptedResponse): BodyTaker;
  /** The client gets a stored response with these headers. */
  serves?(x: Exchange, headers: readonly string[]): void;
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
