import type { Peer } from '../upstream/index.ts';
import type { Destination } from './connector.ts';
import type { UpstreamFault } from './fault.ts';
import type { BodyFraming, Caller } from './response-reader.ts';

/** The head of a request as it is sent. */
export interface HeadToSend {
  readonly head: string | Uint8Array;
  /** Of a text; default: utf8. In latin1 a character is a byte. */
  readonly encoding?: 'latin1' | undefined;
  /** How the body behind it is framed. */
  readonly framing?: BodyFraming | undefined;
  /** Instead of `head`, where requests are streams: name, value …; a character is a byte, names are in lower case. */
  readonly fields?: readonly string[] | undefined;
}

/** What carries one request to a peer: a connection that is its own until the response is complete, or a stream of a shared one. */
export interface Carrier {
  readonly isOpen: boolean;
  /** It was left open by earlier requests, and nothing has arrived since: the peer may have closed it meanwhile. */
  readonly isKept: boolean;
  /** The connection itself has ended, and not just this request on it. */
  readonly isLost: boolean;
  /** Of the current request. */
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** Sends the head of a request, and its body if it is complete. If it follows, `write` and `finish` are called. */
  begin(caller: Caller, request: HeadToSend, body: Uint8Array | 'follows' | undefined): void;
  /** Sends a piece of the body. False: wait for `drained`. */
  write(piece: Uint8Array): boolean;
  /** To be called when the body is complete, with what is left of it. */
  finish(rest?: Uint8Array): void;
  /** Sends the head if it still waits for the body. */
  flush(): void;
  /** Stops reading from the peer while the client is slow. The timeout is suspended. */
  pause(): void;
  resume(): void;
  /** Gives the request up; the caller is not called any more. */
  destroy(): void;
}

/** Called with the outcome of an attempt to connect; one of the two, once. */
export interface CarrierCallbacks {
  opened(carrier: Carrier): void;
  refused(fault: UpstreamFault): void;
}

/** Gives what carries requests to the peers of one group. */
export interface Carriers {
  readonly isTls: boolean;
  /** Gives one that is open, if there is one. `name`: what the certificate of the peer was checked for. */
  take(peer: Peer, name: string): Carrier | undefined;
  /** Opens a new one; gives a function that cancels the attempt. */
  open(peer: Peer, to: Omit<Destination, 'address'>, dialled: CarrierCallbacks): () => void;
  /** Closes what is idle; what carries a request is closed after it. */
  close(): void;
}
