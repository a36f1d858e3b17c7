import { setTimeout as sleep } from 'node:timers/promises';
import type { Happening } from '../actor.ts';
import { untilServed } from './until.ts';

const BACK_MS = 30_000;
const PATH = '/api/fixed?id=eq.1';

export const databaseHappenings: readonly Happening[] = [
  {
    name: 'database-restarts',
    weight: 2,
    hits: ['database'],
    async happen({ random, stage: { database, sites } }) {
      await database.stop();
      await sleep(random.between(0, 1500));
      await database.start();
      await untilServed(sites.port, PATH, BACK_MS);
    },
  },
  {
    name: 'database-killed',
    weight: 1,
    hits: ['database'],
    async happen({ stage: { database, sites } }) {
      await database.kill();
      await database.start();
      await untilServed(sites.port, PATH, BACK_MS);
    },
  },
  {
    name: 'sessions-terminated',
    weight: 3,
    hits: ['database'],
    async happen({ random, stage: { database, sites } }) {
      for (let times = random.between(1, 5); times > 0; times--) {
        await database.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator'`,
        );
        await sleep(random.between(10, 200));
      }
      await untilServed(sites.port, PATH, BACK_MS);
    },
  },
];
