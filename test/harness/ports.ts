import { once } from 'node:events';
import { createServer } from 'node:net';

/** Each process of the tests has ports of its own, so that no other one takes a port that a test will bind. */
const PROCESSES = Number(process.env['GW_TEST_WORKERS'] ?? 1);
const PROCESS = (Number(process.env['VITEST_POOL_ID'] ?? 1) - 1) % PROCESSES;

const given = new Set<number>();

/** A free port of 127.0.0.1, below the kernel's ephemeral range, so that no client socket takes it meanwhile. */
export function freePort(): Promise<number> {
  return portOf({ from: 10_000, count: 22_000 });
}

/** A free port of 127.0.0.1 that only root can bind. */
export function freeLowPort(): Promise<number> {
  return portOf({ from: 200, count: 800 });
}

async function portOf({ from, count }: { from: number; count: number }): Promise<number> {
  const own = Math.floor(count / PROCESSES);
  for (let attempt = 1; ; attempt += 1) {
    // All ports were given out; the tests that had the first ones have ended.
    if (attempt % own === 0) given.clear();
    const port = from + PROCESS * own + Math.floor(Math.random() * own);
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
