import type { Socket } from 'node:net';
import type { Exchange } from '../../http/index.ts';
import type { AnswerHead } from './client/answer-head.ts';

/** The upstream's end of a tunnel. */
export interface TunnelEnd {
  readonly head: AnswerHead;
  readonly socket: Socket;
  /** What came behind the head. */
  readonly rest: Buffer;
  /** Longest silence on the upstream's side, either way. */
  readonly readTimeoutMs: number;
}

/** Lets client and upstream speak another protocol (101), where the transport can. */
export function openTunnel(x: Exchange, { head, socket, rest, readTimeoutMs }: TunnelEnd): void {
  // From here on only its new user hears of errors, and there is one from the first moment on.
  socket.on('error', () => socket.destroy());
  socket.setTimeout(readTimeoutMs, () => socket.destroy());
  socket.pause();
  if (rest.length > 0) socket.unshift(rest);
  const protocol = upgradeOf(head);
  if (x.tunnel(protocol, socket)) return;
  socket.destroy();
  x.responseHeaders = x.reason = undefined;
  x.rules.warn(
    `"${protocol}" cannot be spoken here: only "listen ... engine=node" hands over connections`,
    x,
  );
  x.end(502);
}

function upgradeOf({ headers }: AnswerHead): string {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'upgrade');
  return headers[at + 1] ?? '';
}
