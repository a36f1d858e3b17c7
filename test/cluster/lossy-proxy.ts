import { createServer, createConnection, type AddressInfo, type Socket } from 'node:net';
import type { Owner } from '../harness/owner.ts';

/** A way to a server on which bytes of one direction can vanish. */
export interface LossyProxy {
  readonly url: string;
  /** What is sent in this direction vanishes from now on; `undefined`: nothing does, and connections begin anew. */
  lose(direction: 'to the server' | 'to the client' | undefined): void;
  /** Every byte arrives this much later, in both directions, from now on. */
  delay(ms: number): void;
  /** So much a second goes to the client from now on. */
  slow(bytesPerSecond: number): void;
}

/** Opens a way to a server on loopback, until the test ends. */
export async function lossyProxy(t: Owner, port: number): Promise<LossyProxy> {
  let lost: 'to the server' | 'to the client' | undefined;
  let bytesPerSecond = Infinity;
  let delayMs = 0;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection({ host: '127.0.0.1', port });
    const both = [client, upstream];
    for (const socket of both) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        for (const one of both) one.destroy();
      });
    }
    client.on('data', (bytes) => lost !== 'to the server' && pass(bytes, upstream, delayMs));
    upstream.on('data', (bytes: Buffer) => {
      if (lost === 'to the client') return;
      pass(bytes, client, delayMs);
      upstream.pause();
      setTimeout(() => upstream.resume(), (bytes.length * 1_000) / bytesPerSecond);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lose(direction) {
      lost = direction;
      // A stream of which bytes are missing is of no use.
      if (direction === undefined) for (const socket of open) socket.destroy();
    },
    delay: (ms) => void (delayMs = ms),
    slow: (rate) => void (bytesPerSecond = rate),
  };
}

function pass(bytes: Buffer, to: Socket, delayMs: number): void {
  if (delayMs === 0) to.write(bytes);
  else setTimeout(() => to.writable && to.write(bytes), delayMs);
}
