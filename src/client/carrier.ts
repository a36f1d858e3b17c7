import type { Peer } from '../upstream/index.ts';
import type { Destination } from './connector.ts';
import type { UpstreamFault } from './fault.ts';
import type { BodyFraming, Caller } from './response-reader.ts';

/** The head of a request as it is sent. */
export interface HeadToSend {
  readonly head: string | Uint8Array;
  /** The encoding of a text; default: utf8. In latin1 a character is a byte. */
  readonly encoding?: 'latin1' | undefined;
  /** The framing of the body; absent: it is sent unchanged. */
  readonly framing?: BodyFraming | undefined;
  /** Replaces `head` where requests are streams: name, value …; a character is a byte, names are in lower case. */
  readonly fields?: readonly string[] | undefined;
}

/** Carries one request to a peer: a connection that serves no other request meanwhile, or a stream of a shared one. */
export interface Carrier {
  readonly isOpen: boolean;
  /** True if earlier requests left it open and nothing has arrived since: the peer may have closed it meanwhile. */
  readonly isKept: boolean;
  /** True if the connection itself has ended, and not just this request on it. */
  readonly isLost: boolean;
  /** Bytes of the current request. */
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** Sends the head of a request, and its body if it is complete. A body that follows is passed to `write` and `finish`. */
  begin(caller: Caller, request: HeadToSend, body: Uint8Array | 'follows' | undefined): void;
  /** Sends a piece of the body. Returns false if the caller has to wait for `drained`. */
  write(piece: Uint8Array): boolean;
  /** Ends the body; `rest` is its last piece. */
  finish(rest?: Uint8Array): void;
  /** Sends the head if it still waits for the body. */
  flush(): void;
  /** Stops reading from the peer while the client is slow. The timeout is suspended. */
  pause(): void;
  resume(): void;
  /** Cancels the request; the caller is not called any more. */
  destroy(): void;
}

/** The two outcomes of an attempt to connect; exactly one is called, once. */
export interface CarrierCallbacks {
  opened(carrier: Carrier): void;
  refused(fault: UpstreamFault): void;
}

/** Provides carriers for the requests to the peers of one group. */
export interface Carriers {
  readonly isTls: boolean;
  /** Returns an open carrier, if there is one. `name` is the one that the peer's certificate was checked for. */
  take(peer: Peer, name: string): Carrier | undefined;
  /** Opens a new carrier. Returns a function that cancels the attempt. */
  open(peer: Peer, to: Omit<Destination, 'address'>, dialled: CarrierCallbacks): () => void;
  /** Closes idle connections. A connection with a request is closed after it. */
  close(): void;
}
