import { knownMember, subjectText } from './node/index.ts';
import type { ClusterPlan } from './plan.ts';
import { backendLabel, type ClusterStore, openStore, StoreLost, StoreRefused } from './stores/index.ts';

/** The state of a store and of the nodes that use it, or why the store cannot be asked. */
export type Inspection =
  | { readonly fault: string }
  | {
      /** Redis' `maxmemory-policy`; `undefined` if the store does not tell it. */
      readonly policy: string | undefined;
      readonly liveNodes: number;
      /** Subjects whose parameters on a node differ from those on other nodes. */
      readonly conflicts: readonly { readonly node: string; readonly subject: string }[];
      /** The number of nodes that this kind of store was tested with. */
      readonly mostNodes: number;
    };

/** A node that misses this many heartbeats is gone. */
const HEARTBEATS = 3;
const MOST_CONFLICTS = 20;
/** How long to go on after a failure: a store with several addresses may be found at the next one. */
const SEARCH_MS = 1_000;

/** Inspects the store of a cluster without joining the cluster. Resolves with a fault if the store fails. */
export async function inspectStore(plan: ClusterPlan, timeoutMs: number): Promise<Inspection> {
  let store: ClusterStore | undefined;
  try {
    store = await openedStore(plan, timeoutMs);
    const [policy, members] = [await store.policy(), await store.members()];
    const live = members.filter(({ ageMs }) => ageMs <= HEARTBEATS * plan.heartbeatMs).map(knownMember);
    const conflicts = live.flatMap(({ nodeId: node, differs }) =>
      differs.map((stream) => ({ node, subject: subjectText(stream) })),
    );
    const shown = conflicts.slice(0, MOST_CONFLICTS);
    return {
      policy,
      liveNodes: live.length,
      conflicts: shown,
      mostNodes: mostNodes(backendLabel(plan.backend)),
    };
  } catch (error) {
    if (error instanceof StoreLost || error instanceof StoreRefused) return { fault: error.message };
    throw error;
  } finally {
    store?.close();
  }
}

/** Opens the store. Rejects with `StoreLost` if that takes longer than `timeoutMs`. */
function openedStore(plan: ClusterPlan, timeoutMs: number): Promise<ClusterStore> {
  const { backend, namespace, retain } = plan;
  return new Promise((resolve, reject) => {
    let reason = 'no response in time';
    const giveUp = (): void => {
      store.close();
      reject(new StoreLost(reason));
    };
    let deadline = setTimeout(giveUp, timeoutMs);
    const store = openStore(
      { backend, namespace, retain, timeoutMs },
      {
        up() {
          clearTimeout(deadline);
          resolve(store);
        },
        down(why) {
          reason = why;
          clearTimeout(deadline);
          deadline = setTimeout(giveUp, SEARCH_MS);
        },
      },
    );
  });
}

/** Returns how many nodes may share a store. PostgreSQL has a process for each, and one lock for all notifications. */
export function mostNodes(label: string): number {
  return /^postgres(?:ql)?:|(?:^|\s)(?:host|dbname|service)\s*=/.test(label) ? 50 : 1_000;
}
