import { setTimeout as sleep } from 'node:timers/promises';
import type { Happening } from '../actor.ts';
import { untilServed } from './until.ts';

const BACK_MS = 15_000;
/** Needs no key, which a restart would have removed. */
const PATH = '/kv/mget?keys=a';

export const storeHappenings: readonly Happening[] = [
  {
    name: 'store-restarts',
    weight: 2,
    hits: ['store'],
    async happen({ random, stage: { store, sites } }) {
      await store.stop(random.pick(['SIGTERM', 'SIGKILL'] as const));
      await sleep(random.between(0, 1500));
      await store.start();
      await untilServed(sites.port, PATH, BACK_MS);
    },
  },
  {
    name: 'store-freezes',
    weight: 2,
    hits: ['store'],
    async happen({ random, stage: { store, sites } }) {
      store.signal('SIGSTOP');
      await sleep(random.between(100, 3_000));
      store.signal('SIGCONT');
      await untilServed(sites.port, PATH, BACK_MS);
    },
  },
];
