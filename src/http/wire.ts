import type { Duplex } from 'node:stream';
import type { ResponseStream } from './response-stream.ts';

/** Takes a piece of a request body; the client is held back while it waits. */
export type PieceReceiver = (piece: Buffer) => void | Promise<void>;

/** What becomes of a body: all of it, more than the limit, too long a silence, or a client that left. */
export type BodyOutcome = Buffer | 'too large' | 'timeout' | 'aborted';

/** Who wants the body of a request. */
export interface BodyReader {
  readonly limitBytes: number;
  /** Longest silence of the client. */
  readonly timeoutMs: number;
  readonly settle: (outcome: BodyOutcome) => void;
  /** Takes the body as it comes; the outcome is then an empty buffer. */
  readonly receive: PieceReceiver | undefined;
  /** Hears what `receive` throws. */
  readonly fail: (error: unknown) => void;
}

/**
 * What carries one request and its response: the operations in which engines differ. A wire makes the `Exchange` that it
 * carries and tells it what happens (`wrote`, `fail`, `leave`, `finish`); status, type and headers of the response it reads there.
 */
export interface Wire {
  /** Address of the other end of the connection. */
  readonly peerAddress: string;
  /** 0 where the engine does not tell. */
  readonly peerPort: number;
  /** Bytes of the request's head and body so far. */
  readonly requestLength: number;
  /** Whether it can send fields behind a body. */
  readonly sendsTrailers: boolean;
  /** Whether it can wait for a client that still sends while the connection closes, so that the response is read. */
  readonly lingers: boolean;
  /** Whether the connection can change to another protocol. */
  readonly tunnels: boolean;
  /** Somebody will ask for the peer's address, even when the response is out or the connection gone. */
  keepPeer(): void;
  /** Hands the body to a reader, once per request that has one. */
  readBody(reader: BodyReader): void;
  /** Sends head and body; the head alone where method or status want no body. */
  write(body: string | Uint8Array): void;
  /** Sends the head; `undefined` where no body may follow. `lengthBytes` -1: nobody knows. */
  open(lengthBytes: number): ResponseStream | undefined;
  /** Sends the head of a 101; from then on bytes go both ways between client and peer. */
  tunnel(protocol: string, peer: Duplex): void;
  /** Cuts the connection, whatever was sent of the response. */
  close(): void;
}
