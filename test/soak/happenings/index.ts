import type { Happening } from '../actor.ts';
import { databaseHappenings } from './database.ts';
import { processHappenings } from './process.ts';
import { reloadHappenings } from './reload.ts';
import { storeHappenings } from './store.ts';

/** All that may happen to the gateway and to what stands behind it. */
export const HAPPENINGS: readonly Happening[] = [
  ...reloadHappenings,
  ...processHappenings,
  ...databaseHappenings,
  ...storeHappenings,
];
