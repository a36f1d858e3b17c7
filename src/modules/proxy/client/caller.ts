import type { Socket } from 'node:net';
import type { AnswerHead } from './answer-head.ts';
import type { UpstreamFault } from './fault.ts';

/** Who sends a request over a connection and takes its answer. Each method is called from the connection's events. */
export interface Caller {
  readonly method: string;
  readonly sendTimeoutMs: number;
  readonly readTimeoutMs: number;
  /** `proxy_buffer_size`: the largest head. */
  readonly headLimitBytes: number;
  /** The request asks for another protocol: a 101 hands over the socket. */
  readonly upgrades: boolean;
  head(head: AnswerHead): void;
  piece(bytes: Buffer): void;
  /** The answer is complete; the connection may already carry the next request when this returns. */
  end(trailers: readonly string[] | undefined): void;
  /** No (more) answer comes; the connection is gone. */
  fault(fault: UpstreamFault): void;
  /** What was written has left: more of the body may follow. */
  drained(): void;
  /** A 101: the socket is the caller's, and `rest` came behind the head. */
  switched(head: AnswerHead, socket: Socket, rest: Buffer): void;
}
