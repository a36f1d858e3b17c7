import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Owner } from '../harness/owner.ts';

/** Listens on a free port of 127.0.0.1 until its owner ends. */
export async function listening(owner: Owner, serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('end', () => socket.end());
    serve(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  owner.onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await once(server.close(), 'close');
  });
  return (server.address() as AddressInfo).port;
}
