import type { Exchange } from '../../http/index.ts';
import type { ResponseHead, UpstreamFault } from '../../client/index.ts';
import type { BodyTaker, Pace, Source } from '../../bodies/index.ts';

/** The facts that an origin gives about storing its response. */
export interface Storing {
  /** The tags of the response; absent: they are in its headers. */
  readonly tags?: readonly string[];
  /** How long a response with status 200 is fresh, in milliseconds; absent: as its headers and the location say. */
  readonly lifeMs?: number;
  /** The reason why it must not be stored, for the metrics. */
  readonly refusal?: string;
}

/** The origin of a response that may be stored. */
export interface StoredSource extends Source {
  /** Returns the facts about the response besides its headers. To be called when the head has arrived. */
  storing?(): Storing;
  /** Gives up the request, since the response is no longer needed. */
  withdraw(): void;
}

/** A response whose headers are set. */
export interface AcceptedResponse {
  readonly head: ResponseHead;
  readonly contentType: string;
  readonly source: Source;
  /** False: the client gets the response as it arrives, and it is not stored. */
  readonly isBuffered: boolean;
  /** Maximum bytes kept for a slow client before the origin is paused. */
  readonly readAheadBytes: number;
  /** Controls how fast the origin is read. */
  readonly pace: Pace;
}

/** Decides what a client gets: the response itself, or another one of this server. */
export interface Delivery {
  /** Returns true if the client gets an error page instead of this response of the origin. */
  intercepts?(x: Exchange, head: ResponseHead): boolean;
  /** Sets the headers of the response. `undefined`: the request was redirected internally. */
  accept(x: Exchange, head: ResponseHead, source: Source): AcceptedResponse | undefined;
  /** Passes on a response that is not stored. Returns the taker of its body. */
  pass(x: Exchange, accepted: AcceptedResponse): BodyTaker;
  /** Called when the client gets a stored response with these headers. */
  serves?(x: Exchange, headers: readonly string[]): void;
}

/** Decides about the response to a request whose location has a cache. */
export interface ResponseKeeper {
  /** Returns the taker of the body; `undefined` if the body is not needed. */
  take(x: Exchange, head: ResponseHead, source: StoredSource): BodyTaker | undefined;
  /** Called if there is no response. Returns true if a stale one was served instead. */
  fails(status: 502 | 504, why: UpstreamFault['kind']): boolean;
  /** Called if there is no response, and no client waits for one. */
  drop(): void;
}
