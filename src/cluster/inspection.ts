import { knownMember, subjectText } from './node/index.ts';
import type { ClusterPlan } from './plan.ts';
import { backendLabel, type ClusterStore, openStore, StoreLost, StoreRefused } from './stores/index.ts';

/** What a store tells of itself and of the nodes that use it, or why it cannot be asked. */
export type Inspection =
  | { readonly fault: string }
  | {
      /** Redis' `maxmemory-policy`; `undefined` if it does not tell. */
      readonly policy: string | undefined;
      readonly liveNodes: number;
      /** What nodes share with other parameters than others, by their names. */
      readonly conflicts: readonly { readonly node: string; readonly subject: string }[];
      /** How many nodes the kind of store was tested with. */
      readonly mostNodes: number;
    };

/** A node that is silent for so many of its heartbeats is gone. */
const HEARTBEATS = 3;
const MOST_CONFLICTS = 20;
/** A store that has several addresses may be found after the first of them has failed. */
const SEARCH_MS = 1_000;

/** Asks the store of a cluster, as a node would, without becoming one. Never rejects. */
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

/** Opens the store. Rejects with `StoreLost` if that takes too long. */
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

/** How many nodes may share a store: PostgreSQL has a process for each, and one lock for all notifications. */
export function mostNodes(label: string): number {
  return /^postgres(?:ql)?:|(?:^|\s)(?:host|dbname|service)\s*=/.test(label) ? 50 : 1_000;
}
