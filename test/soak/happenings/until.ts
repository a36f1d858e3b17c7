import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../client.ts';

/** Sends requests until several in a row get 200: each worker has recovered. */
export async function untilServed(port: number, path: string, limitMs: number): Promise<void> {
  const startedMs = performance.now();
  for (let inARow = 0; inARow < 8;) {
    const { status, failure } = await ask(port, path);
    inARow = status === 200 ? inARow + 1 : 0;
    if (performance.now() - startedMs > limitMs)
      throw new Error(`${path} still says ${status || failure} after ${limitMs} ms`);
    if (inARow === 0) await sleep(20);
  }
}
