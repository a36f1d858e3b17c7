import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ConfigSource } from '../pipeline.ts';

/**
 * What the rules of `gw check` find in a configuration, one line each, from a thread of its own: signals and workers do not
 * wait for it, and the memory that the rules take goes with it. Fails when the thread does.
 */
export async function judge(source: ConfigSource, signal: AbortSignal): Promise<readonly string[]> {
  const thread = new Worker(new URL('../master/judge-thread.js', import.meta.url), { workerData: source });
  thread.unref();
  try {
    const [lines] = (await once(thread, 'message', { signal })) as [readonly string[]];
    return lines;
  } finally {
    await thread.terminate();
  }
}
