import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';

export interface Sent {
  readonly port: number;
  readonly tls?: boolean;
  /** Written one after the other, each in a packet of its own. */
  readonly pieces: readonly Uint8Array[];
  /** How long the server may be silent before the client leaves. */
  readonly patienceMs: number;
}

export interface Exchanged {
  /** The first bytes that came, as latin1. */
  readonly text: string;
  /** Whether the server closed the connection before the client left. */
  readonly closed: boolean;
  /** `ECONNREFUSED` and the like; empty when there was a connection. */
  readonly failure: string;
  readonly startedMs: number;
}

const MAX_KEPT = 65_536;

/** Sends bytes and collects what comes until the server closes or is silent. Never rejects. */
export async function exchange({ port, tls = false, pieces, patienceMs }: Sent): Promise<Exchanged> {
  const startedMs = performance.now();
  const address = { port, host: '127.0.0.1', noDelay: true };
  const socket: Socket = tls ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address);
  let text = '';
  let failure = '';
  let heardMs = performance.now();
  socket.on('data', (chunk: Buffer) => {
    heardMs = performance.now();
    if (text.length < MAX_KEPT) text += chunk.toString('latin1');
  });
  socket.on('error', (error: NodeJS.ErrnoException) => (failure = error.code ?? error.message));
  const ended = once(socket, 'close').catch(() => undefined);
  try {
    await once(socket, tls ? 'secureConnect' : 'connect');
  } catch {
    return { text, closed: true, failure, startedMs };
  }
  failure = '';
  for (const piece of pieces) {
    if (socket.destroyed) break;
    socket.write(piece);
    if (pieces.length > 1) await sleep(1);
  }
  while (!socket.destroyed && performance.now() - heardMs < patienceMs) {
    await Promise.race([ended, sleep(Math.min(patienceMs, 50))]);
  }
  const closed = socket.destroyed;
  socket.destroy();
  return { text, closed, failure: '', startedMs };
}

/** Bytes cut at a few places, or left whole. */
export function inPieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.toSorted((one, other) => one - other), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}
