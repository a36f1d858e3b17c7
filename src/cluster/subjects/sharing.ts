import type { ErrorLog } from '../../log/index.ts';
import type { Counters } from '../../zone/index.ts';
import type { ClusterNode } from '../node/index.ts';
import type { ClusterPlan } from '../plan.ts';

export type Leaving = () => void | Promise<void>;
/** Makes the node share a subject or parameters. Returns the function that ends this. */
export type Joining = (node: ClusterNode) => Leaving;

/** The parts of a cluster that its subjects use in each worker. */
export interface Sharing {
  readonly plan: ClusterPlan;
  readonly log: ErrorLog;
  readonly metrics: Counters;
  /** The node, while this worker runs it. */
  readonly node: ClusterNode | undefined;
  /** Calls `join` whenever this worker begins to run the node. Returns the function that ends the sharing. */
  share(join: Joining): () => void;
  /** Asks the worker that runs the node, maybe this one. Rejects with `CallLost` if there is no answer in time. */
  ask(kind: string, question: unknown, timeoutMs: number): Promise<unknown>;
  /** Sets the answerer for one kind of questions while this worker runs the node. If it rejects, no answer is sent. */
  answer(kind: string, answerer: (question: unknown) => Promise<unknown>): void;
}
