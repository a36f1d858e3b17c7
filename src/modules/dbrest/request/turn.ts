import { setImmediate as nextTurn } from 'node:timers/promises';
import { PoolRefusal } from '../../../pool/index.ts';

/** Between two pieces of work others have their turn. Rejects once nobody waits for the work any more. */
export type Turn = () => Promise<void>;

/** The turns of work that is done for one client: it ends with the piece under way when the client leaves. */
export function turnsFor(client: { readonly aborted: boolean }): Turn {
  return async () => {
    await nextTurn();
    if (client.aborted) throw new PoolRefusal('abandoned');
  };
}
