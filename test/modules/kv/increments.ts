import { parentPort, workerData } from 'node:worker_threads';
import { open } from 'lmdb';
import { EmbeddedStore } from '../../../src/modules/kv/embedded-store.ts';

// A worker thread that increments "n". A thread that stays closes its store; one that dies exits with writes in flight.
const { dir, dies } = workerData as { readonly dir: string; readonly dies: boolean };
const store = new EmbeddedStore({
  dir,
  settings: { timeoutMs: 30_000 },
  open,
  sweeps: true,
  log: { write: (level, message) => console.error(level, message) },
});

let counted = 0;
const increment = (): Promise<void> =>
  new Promise((resolve, reject) => {
    store.run('incr', ['n'], (fault) => {
      if (fault) return reject(new Error(fault.text));
      counted++;
      resolve();
    });
  });

async function run(): Promise<void> {
  for (let round = 0; round < 50; round++) await Promise.all(Array.from({ length: 20 }, increment));
  parentPort?.postMessage(counted);
  if (!dies) return store.close();
  for (let more = 0; more < 100; more++) void increment();
  setImmediate(() => process.exit(1));
}
void run();
