import { build } from 'esbuild';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { open } from 'lmdb';
import { expect, onTestFinished, test, vi } from 'vitest';
import { EmbeddedStore } from '../../../src/modules/kv/embedded-store.ts';
import { outcomeOf, memoryLog, SETTINGS } from './stores.ts';

function ownDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'gw-kv-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'a', 'kv');
}

function storeIn(dir: string, sweeps = false): EmbeddedStore {
  return new EmbeddedStore({ dir, settings: SETTINGS, open, sweeps, log: memoryLog() });
}

test('keeps its data in a directory that only its owner reads', async () => {
  const dir = ownDir();
  await storeIn(dir).close();
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(statSync(join(dir, '..')).mode & 0o777).toBe(0o700);
});

test('finds its data again after a restart', async () => {
  const dir = ownDir();
  const before = storeIn(dir);
  await outcomeOf(before, 'set', 'k', 'v');
  await before.close();
  const after = storeIn(dir);
  expect(await outcomeOf(after, 'get', 'k')).toEqual({ reply: 'v' });
  await after.close();
});

test('stays open for one location when another closes it', async () => {
  const dir = ownDir();
  const [one, other] = [storeIn(dir), storeIn(dir)];
  await outcomeOf(one, 'set', 'k', 'v');
  await one.close();
  expect(await outcomeOf(one, 'get', 'k')).toEqual({ fault: 'connection_failed' });
  expect(one.state).toBe('error');
  expect(await outcomeOf(other, 'get', 'k')).toEqual({ reply: 'v' });
  await other.close();
});

test('removes expired keys without a command', async () => {
  const dir = ownDir();
  const store = storeIn(dir, true);
  for (let n = 0; n < 50; n++) {
    await outcomeOf(store, 'set', `k${n}`, 'v');
    await outcomeOf(store, 'hset', `h${n}`, 'f', 'v');
    await Promise.all([outcomeOf(store, 'expire', `k${n}`, '1'), outcomeOf(store, 'expire', `h${n}`, '1')]);
  }
  await outcomeOf(store, 'set', 'stays', 'v');
  await sleep(1_000);
  expect(await outcomeOf(store, 'get', 'k0')).toEqual({ reply: null });
  const root = open({ path: dir, noSubdir: false, maxDbs: 4, overlappingSync: false });
  const left = () =>
    ['keys', 'fields', 'expiries'].map((name) => root.openDB({ name, keyEncoding: 'binary' }).getCount());
  await vi.waitFor(() => expect(left()).toEqual([1, 0, 0]), 10_000);
  await root.close();
  await store.close();
});

test('counts exactly when several workers increment and one of them dies', async () => {
  const dir = ownDir();
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('increments.ts', import.meta.url))],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    external: ['lmdb'],
  });
  // Evaluated, so that `lmdb` resolves from here; Node 20 runs no TypeScript in a worker thread.
  const program = outputFiles[0]?.text ?? '';
  const count = async (dies: boolean): Promise<number> => {
    const worker = new Worker(program, { eval: true, workerData: { dir, dies } });
    const [[counted]] = (await Promise.all([once(worker, 'message'), once(worker, 'exit')])) as [
      [number],
      unknown,
    ];
    return counted;
  };
  const counts = await Promise.all([count(false), count(false), count(true)]);
  expect(counts).toEqual([1_000, 1_000, 1_000]);
  const store = storeIn(dir);
  const { reply } = (await outcomeOf(store, 'get', 'n')) as { readonly reply: string };
  // Each of the last 100 increments of the worker that died is stored once or not at all.
  expect(Number(reply)).toBeGreaterThanOrEqual(3_000);
  expect(Number(reply)).toBeLessThanOrEqual(3_100);
  await store.close();
});
