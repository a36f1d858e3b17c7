import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Owner } from './owner.ts';

/** A server that a gateway sends requests to. */
export interface TestPeer {
  readonly port: number;
  readonly server: Server;
  /** Complete requests, as `METHOD /target`. */
  readonly requests: string[];
  /** Number of connections so far. */
  readonly connections: () => number;
  /** Number of open connections. */
  readonly open: () => number;
  /** Resets all connections and stops listening. */
  die(): Promise<void>;
  /** Listens on its port again. */
  revive(): Promise<void>;
}

/** Starts a peer on a free port that responds with its name, or by `respond`. */
export async function startPeer(
  t: Owner,
  name: string,
  respond: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.end(name),
): Promise<TestPeer> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let made = 0;
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume();
    respond(request, response);
  });
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => {
    made += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const die = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.resetAndDestroy();
    await closed;
  };
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  t.onTestFinished(die);
  return {
    port,
    server,
    requests,
    connections: () => made,
    open: () => sockets.size,
    die,
    revive: () => listen(server, port),
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}
