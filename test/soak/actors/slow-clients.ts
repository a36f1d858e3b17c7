import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor, Turn } from '../actor.ts';

/** The longest timeout of a server for a client that never completes its request, and a margin. */
const GIVES_UP_MS = 25_000;

type Slowness = (socket: Socket, turn: Turn) => Promise<void>;

const SLOWNESSES: readonly Slowness[] = [
  async function slowHead(socket) {
    await drip(socket, `GET /say/slow HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(200)}`);
  },
  async function slowBody(socket) {
    socket.write('POST /echo/slow HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n');
    await drip(socket, 'x'.repeat(30));
    // From here on the client is silent: each byte would have started the server's timeout anew.
  },
  async function slowRead(socket) {
    socket.pause();
    socket.write('GET /files/large.txt HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3));
    await sleep(3_000);
    socket.destroy();
  },
  async function halfOpen(socket) {
    socket.write('GET /say/half HTTP/1.1\r\nHost: a\r\n');
    socket.end();
  },
  async function goesAway(socket, { random }) {
    socket.write(
      'POST /api/rpc/nap HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"seconds":1}',
    );
    await sleep(random.between(1, 100));
    socket.resetAndDestroy();
  },
  async function saysNothing() {},
];

/** Clients that are slow, or that leave in the middle: every connection ends. */
export const slowClients: Actor = {
  name: 'slow-clients',
  lanes: 3,
  limitMs: GIVES_UP_MS + 5_000,
  async act(turn) {
    const startedMs = performance.now();
    const { port } = turn.stage.sites;
    const slowness = turn.random.pick(SLOWNESSES);
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined).on('end', () => socket.destroy());
    const closed = once(socket, 'close').then(
      () => true,
      () => true,
    );
    if (slowness.name !== 'slowRead') socket.resume();
    await Promise.race([closed, Promise.all([slowness(socket, turn), ended(closed)])]);
    const isClosed = socket.destroyed;
    socket.destroy();
    turn.count(slowness.name);
    if (!isClosed && !turn.stage.disturbances.excuse(['process'], startedMs))
      turn.violation(`${slowness.name}: the connection stays open for ever`);
  },
};

async function ended(closed: Promise<boolean>): Promise<void> {
  const left = new AbortController();
  await Promise.race([closed, sleep(GIVES_UP_MS, undefined, { signal: left.signal }).catch(() => undefined)]);
  left.abort();
}

/** Writes a byte now and then, until everything is written or the server closes. */
async function drip(socket: Socket, text: string): Promise<void> {
  for (const letter of text) {
    if (socket.destroyed) return;
    socket.write(letter);
    await sleep(300);
  }
}
