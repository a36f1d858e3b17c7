import type { Socket } from 'node:net';
import type { Exchange } from '../../http/index.ts';
import type { AnswerHead } from './client/answer-head.ts';

/** The upstream's end of a tunnel. */
export interface TunnelEnd {
  readonly head: AnswerHead;
  readonly socket: Socket;
  /** What came behind the head. */
  readonly rest: Buffer;
  readonly readTimeoutMs: number;
}

/** Lets client and upstream speak another protocol over the client's connection, where the transport can hand it over. */
export function openTunnel(x: Exchange, { socket }: TunnelEnd): void {
  socket.destroy();
  x.end(502);
}
