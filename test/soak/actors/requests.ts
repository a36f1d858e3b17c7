import type { Actor, HonestRequest } from '../actor.ts';
import { databaseRequests } from '../requests/database.ts';
import { eventRequests } from '../requests/events.ts';
import { plainRequests } from '../requests/plain.ts';
import { storeRequests } from '../requests/store.ts';

const REQUESTS: readonly HonestRequest[] = [
  ...plainRequests,
  ...databaseRequests,
  ...storeRequests,
  ...eventRequests,
];

/** Honest clients: a mixture over all modules, each answer compared with what it must be. */
export const requests: Actor = {
  name: 'requests',
  lanes: 6,
  act: (turn) => turn.random.pick(REQUESTS)(turn),
};
