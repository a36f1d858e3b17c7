import { once } from 'node:events';
import { createServer } from 'node:net';

const given = new Set<number>();

/** A free port of 127.0.0.1, below the kernel's ephemeral range, so that no client socket takes it meanwhile. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
    if (!given.has(port) && (await isFree(port))) {
      given.add(port);
      return port;
    }
  }
}

/** A free port of 127.0.0.1 that only root can bind. */
export async function freeLowPort(): Promise<number> {
  for (;;) {
    const port = 200 + Math.floor(Math.random() * 800);
    if (!given.has(port) && (await isFree(port))) {
      given.add(port);
      return port;
    }
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    await once(server.close(), 'close');
    return true;
  } catch {
    return false;
  }
}
