import { build } from 'esbuild';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll } from 'vitest';

const sources = fileURLToPath(new URL('threads/', import.meta.url));
let compiled = '';

/** Compiles the programs in `threads/` for this test file: Node 20 runs no TypeScript in a worker thread. */
export function compileThreads(...names: string[]): void {
  beforeAll(async () => {
    compiled = await mkdtemp(join(tmpdir(), 'gw-threads-'));
    await build({
      entryPoints: names.map((name) => join(sources, `${name}.ts`)),
      outdir: compiled,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      format: 'esm',
    });
  });
  afterAll(() => rm(compiled, { recursive: true }));
}

/** Starts one of the programs; `next` waits for its next message and fails when the thread fails. */
export function startThread(
  name: string,
  workerData: object,
): { worker: Worker; next: () => Promise<unknown> } {
  const worker = new Worker(join(compiled, `${name}.mjs`), { workerData });
  return { worker, next: async () => (await once(worker, 'message'))[0] as unknown };
}
