import type { MessagePort } from 'node:worker_threads';
import type { HeldLogs } from '../log/index.ts';
import type { GatewayPlan } from '../plan/index.ts';
import type { CounterMemory } from '../zone/index.ts';
import type { Opening } from './transport/index.ts';

/** A configuration sent to a worker. Everything in it can be structured-cloned. */
export interface Shipment {
  /** Number of this load, counted from 1. */
  readonly generation: number;
  readonly plan: GatewayPlan;
  /** Shared memory by zone name. */
  readonly zones: ReadonlyMap<string, SharedArrayBuffer>;
  readonly counters: CounterMemory;
  /** Logs that the account may be unable to open by path. */
  readonly logs: HeldLogs;
  /** The values that the modules' `prepare` provided. */
  readonly provided: ReadonlyMap<string, unknown>;
}

/** The start data of a worker thread. */
export interface WorkerStart {
  readonly workerId: number;
  /** True for the worker that does the work that must be done only once. */
  readonly isFirst: boolean;
  /**
   * One `Int32` per worker at the index of its id: a counter that increases as long as the worker's event loop runs.
   * Index 0 is 1 when the gateway is about to stop. The second half has the threads' ids in /proc, where available.
   */
  readonly heartbeats: SharedArrayBuffer;
  /** Four bytes by which the workers release the memory of their start one after the other. */
  readonly releaseTurn: SharedArrayBuffer;
  readonly shipment: Shipment;
  readonly openings: Openings;
  /** Connects to the thread that accepts connections for ports that this process may not bind. */
  readonly acceptor: MessagePort | undefined;
}

/** How this worker gets the ports that this process cannot bind itself, by their keys. */
export type Openings = ReadonlyMap<string, Opening>;

/**
 * Messages from master to worker. A reload has two steps, so that a configuration that one worker cannot open is
 * refused by all.
 */
export type ToWorker =
  | { readonly type: 'prepare'; readonly shipment: Shipment; readonly openings: Openings }
  | { readonly type: 'switch' }
  | { readonly type: 'discard' }
  | { readonly type: 'reopen'; readonly logs: HeldLogs }
  /** `isReplaced`: another process accepts connections, so this one can wait longer for requests on its own. */
  | { readonly type: 'stop'; readonly graceful: boolean; readonly isReplaced?: boolean }
  /** Its JavaScript was interrupted, so its state is undefined. */
  | { readonly type: 'interrupted' };

/** Messages from worker to master. Answers come in the order of the questions; `listening` or `refused` comes first. */
export type FromWorker =
  | { readonly type: 'listening' }
  | { readonly type: 'prepared' }
  | { readonly type: 'refused'; readonly reason: string }
  | { readonly type: 'switched' }
  | { readonly type: 'reopened' }
  /** `stays`: the worker serves until it is told to stop, so that its ports never close. */
  | { readonly type: 'crashed'; readonly reason: string; readonly stays: boolean };
