import type { ErrorLog } from '../../log/index.ts';
import type { Counters } from '../../zone/index.ts';
import type { ClusterNode } from '../node/index.ts';
import type { ClusterPlan } from '../plan.ts';

export type Leaving = () => void | Promise<void>;
/** Makes the node share something; returns the function that ends it. */
export type Joining = (node: ClusterNode) => Leaving;

/** What one kind of shared things uses of its cluster, in each worker. */
export interface Sharing {
  readonly plan: ClusterPlan;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  /** The node, while this worker runs it. */
  readonly node: ClusterNode | undefined;
  /** Shares something whenever this worker runs the node. Returns the function that ends it. */
  share(join: Joining): () => void;
  /** Asks the worker that runs the node, which may be this one. Rejects with `CallLost`. */
  ask(kind: string, question: unknown, timeoutMs: number): Promise<unknown>;
  /** Answers the questions of one kind while this worker runs the node. A promise that rejects with `CallLost` gives no answer. */
  answer(kind: string, answerer: (question: unknown) => Promise<unknown>): void;
}
