import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { TestContext } from 'vitest';
import { RespReader } from '../../src/redis/resp.ts';

export interface Pretender {
  readonly url: string;
  readonly port: number;
  /** The commands that it was asked, without their arguments. */
  readonly asked: readonly string[];
  /** The replies by command; `undefined`: none. What is in none of them gets `+PONG` or `:0`. */
  replies: Record<string, string | undefined>;
  /** Sends something to all who are connected. */
  tell(bytes: string): void;
}

/** A server that gives prepared replies. */
export async function pretender(t: TestContext, replies: Pretender['replies']): Promise<Pretender> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const reader = new RespReader(1_000_000, (command) => {
      const name = String((command as readonly unknown[])[0]);
      asked.push(name);
      const reply = name in made.replies ? made.replies[name] : name === 'ping' ? '+PONG' : ':0';
      if (reply !== undefined) socket.write(`${reply}\r\n`);
    });
    socket.on('error', () => undefined).on('data', (chunk) => void reader.read(chunk));
    socket.on('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  const made: Pretender = {
    url: `redis://127.0.0.1:${port}`,
    port,
    asked,
    replies,
    tell: (bytes) => sockets.forEach((socket) => socket.write(bytes)),
  };
  return made;
}

/** The replies of a Sentinel that tells the address of a server. */
export function sentinelOf({ port }: { readonly port: number }): Pretender['replies'] {
  return {
    sentinel: `*2\r\n$9\r\n127.0.0.1\r\n$${String(port).length}\r\n${port}`,
    subscribe: '*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1',
  };
}
