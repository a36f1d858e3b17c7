import type { Socket } from 'node:net';
import type { ResponseHead } from './response-head.ts';
import type { UpstreamFault } from './fault.ts';

/** The user of a connection: sends a request and receives the response. The methods are called from the connection's events. */
export interface Caller {
  readonly method: string;
  readonly sendTimeoutMs: number;
  readonly readTimeoutMs: number;
  /** Maximum size of a response head (`proxy_buffer_size`). */
  readonly headLimitBytes: number;
  /** What is asked for, in protocols whose responses name it. */
  readonly subject?: string | undefined;
  /** The protocols that the request asks for, in lower case; with a 101 that names one of them the socket is handed over. */
  readonly upgrades?: readonly string[] | undefined;
  head(head: ResponseHead): void;
  /** A 103 has arrived: headers of the response that will follow. */
  hints?(head: ResponseHead): void;
  piece(bytes: Buffer): void;
  /** The bytes that came with the head were passed on; the rest of the response follows. */
  follow(): void;
  /** The response is complete. When this returns, the connection may already carry the next request. */
  end(trailers: readonly string[] | undefined): void;
  /** There will be no (further) response; the connection is closed. */
  fault(fault: UpstreamFault): void;
  /** The data written so far has been sent; more of the body may be written. */
  drained(): void;
  /** The upstream has sent a 101: the socket now belongs to the caller, and `rest` followed the head. */
  switched(head: ResponseHead, socket: Socket, rest: Buffer): void;
  /** Something about the response that the operator should know; it is complete nevertheless. */
  note?(level: 'error' | 'warn', message: string): void;
}

/** A 101 that was asked for: what follows on the connection belongs to another protocol. */
export interface Switch {
  readonly head: ResponseHead;
  readonly rest: Buffer;
}

/**
 * Reads the responses on one connection, one after the other. Passes heads and bodies to the caller while it has one; the
 * connection takes it away when the request is given up.
 */
export interface ResponseReader {
  /** Of the current request; `undefined` between two of them. */
  caller: Caller | undefined;
  /** The head of the current response has been read. */
  readonly hasHead: boolean;
  /** Trailers of the complete response. */
  readonly trailers: readonly string[] | undefined;
  /** The peer leaves the connection open after the complete response, and nothing followed it. */
  readonly leavesOpen: boolean;
  /** A request is being sent. */
  begin(caller: Caller): void;
  /** Reads what has arrived. Throws an `UpstreamFault`; `undefined`: more follows. */
  read(bytes: Buffer): 'complete' | Switch | undefined;
  /** The peer has closed the connection. True: that completes the response. */
  endsHere(): boolean;
}

/** How the pieces of a request's body stand on a connection; without it, they are sent as they are. */
export interface BodyFraming {
  /** Gives what is sent for a piece. */
  frame(piece: Uint8Array): readonly Uint8Array[];
  /** What is sent behind the last piece. */
  readonly end: Uint8Array;
}
