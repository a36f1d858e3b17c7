import type { Socket } from 'node:net';
import type { ResponseHead } from './response-head.ts';
import type { UpstreamFault } from './fault.ts';

/** The user of a connection: it sends a request and receives the response. Events of the connection call its methods. */
export interface Caller {
  readonly method: string;
  readonly sendTimeoutMs: number;
  readonly readTimeoutMs: number;
  /** Maximum size of a response head (`proxy_buffer_size`). */
  readonly headLimitBytes: number;
  /** The requested object, in protocols whose responses name it. */
  readonly subject?: string | undefined;
  /** The protocols that the request asks for, in lower case. The socket is handed over after a 101 with one of them. */
  readonly upgrades?: readonly string[] | undefined;
  head(head: ResponseHead): void;
  /** A 103 has arrived: headers of the response that will follow. */
  hints?(head: ResponseHead): void;
  piece(bytes: Buffer): void;
  /** The bytes that came with the head were passed on; the rest of the response follows. */
  follow(): void;
  /** The response is complete. When this returns, the connection may already carry the next request. */
  end(trailers: readonly string[] | undefined): void;
  /** The response is missing or incomplete; the connection is closed. */
  fault(fault: UpstreamFault): void;
  /** The data written so far has been sent; more of the body may be written. */
  drained(): void;
  /** The upstream has sent a 101. The socket now belongs to the caller; `rest` is what followed the head. */
  switched(head: ResponseHead, socket: Socket, rest: Buffer): void;
  /** Reports something to the operator about a response that is complete nevertheless. */
  note?(level: 'error' | 'warn', message: string): void;
}

/** A 101 that the request asked for. The bytes after it belong to another protocol. */
export interface Switch {
  readonly head: ResponseHead;
  readonly rest: Buffer;
}

/**
 * Reads the responses on one connection, one after the other. Passes heads and bodies to the caller while it has one. The
 * connection removes the caller when its request is cancelled.
 */
export interface ResponseReader {
  /** The caller of the current request; `undefined` between requests. */
  caller: Caller | undefined;
  /** The head of the current response has been read. */
  readonly hasHead: boolean;
  /** Trailers of the complete response. */
  readonly trailers: readonly string[] | undefined;
  /** The peer leaves the connection open after the complete response, and nothing followed it. */
  readonly leavesOpen: boolean;
  /** A request is being sent. */
  begin(caller: Caller): void;
  /** Reads bytes that have arrived. Returns `undefined` if more follow. Throws an `UpstreamFault`. */
  read(bytes: Buffer): 'complete' | Switch | undefined;
  /** Called when the peer has closed the connection. Returns true if that completes the response. */
  endsHere(): boolean;
}

/** The framing of a request's body on a connection. Without it, pieces are sent unchanged. */
export interface BodyFraming {
  /** Returns the bytes that are sent for a piece. */
  frame(piece: Uint8Array): readonly Uint8Array[];
  /** Sent after the last piece. */
  readonly end: Uint8Array;
}
