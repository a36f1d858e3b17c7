import type { Duplex } from 'node:stream';
import type { ResponseStream } from './response-stream.ts';

/** Receives a piece of a request body. While its promise is pending, the client is held back. */
export type PieceReceiver = (piece: Buffer) => void | Promise<void>;

/** The result of reading a body: all of it, or the reason why it could not be read. */
export type BodyOutcome = Buffer | 'too large' | 'timeout' | 'aborted';

/** The limits and receivers for reading a request body. */
export interface BodyReader {
  readonly limitBytes: number;
  /** Longest silence of the client. */
  readonly timeoutMs: number;
  readonly settle: (outcome: BodyOutcome) => void;
  /** Receives the body piece by piece; the outcome is then an empty buffer. */
  readonly receive: PieceReceiver | undefined;
  /** Called with what `receive` throws. */
  readonly fail: (error: unknown) => void;
}

/**
 * Carries one request and its response: the operations in which the engines differ. A wire creates its `Exchange` and
 * reports events to it (`wrote`, `fail`, `leave`, `finish`). It reads status, type and headers of the response from it.
 */
export interface Wire {
  /** Address of the client's end of the connection. */
  readonly peerAddress: string;
  /** 0 if the engine does not expose it. */
  readonly peerPort: number;
  /** Bytes of the request's head and body received so far. */
  readonly requestLength: number;
  /** True if trailers can be sent. */
  readonly sendsTrailers: boolean;
  /**
   * True if the wire supports lingering close: a client that is still sending can read the response before the
   * connection closes.
   */
  readonly lingers: boolean;
  /** Tells whether the connection can change to a protocol, given in lower case. */
  readonly tunnels: (protocol: string) => boolean;
  /** Makes the peer's address available even after the response is sent or the connection closed. */
  keepPeer(): void;
  /** Passes the body to a reader; called at most once per request, and only if it has a body. */
  readBody(reader: BodyReader): void;
  /** Sends a 103 before the response; `headers`: name, value … Absent where the engine cannot. */
  sendHints?(headers: readonly string[]): void;
  /**
   * Returns how many of `wantedBytes` may be read for the client now. They count as waiting until the client has taken
   * them. Absent where a connection carries one response at a time and all may be read.
   */
  room?(wantedBytes: number): number;
  /** Sends head and body, or the head alone if method or status allow no body. */
  write(body: string | Uint8Array): void;
  /** Sends the head. Returns `undefined` if no body may follow. `lengthBytes` is -1 if the length is unknown. */
  open(lengthBytes: number): ResponseStream | undefined;
  /** Sends the head of a 101, then relays bytes between the client and `peer`. */
  tunnel(protocol: string, peer: Duplex): void;
  /** Closes the connection immediately, even in the middle of a response. */
  close(): void;
}
