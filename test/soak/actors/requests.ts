import type { Actor, HonestRequest } from '../actor.ts';
import { closedRequests } from '../requests/closed.ts';
import { databaseRequests } from '../requests/database.ts';
import { eventRequests } from '../requests/events.ts';
import { plainRequests } from '../requests/plain.ts';
import { storeRequests } from '../requests/store.ts';

const REQUESTS: readonly HonestRequest[] = [
  ...plainRequests,
  ...databaseRequests,
  ...storeRequests,
  ...eventRequests,
  ...closedRequests,
];

/** Honest clients: requests to all modules, each response compared with the expected one. */
export const requests: Actor = {
  name: 'requests',
  lanes: 6,
  act: (turn) => turn.random.pick(REQUESTS)(turn),
};
