import type { MessagePort } from 'node:worker_threads';
import type { GatewayPlan } from '../plan/index.ts';
import type { CounterMemory } from '../zone/index.ts';
import type { Opening } from './transport/index.ts';

/** A configuration on its way into a worker: all of it survives structured cloning. */
export interface Shipment {
  /** Counts the loads of this process from 1. */
  readonly generation: number;
  readonly plan: GatewayPlan;
  /** Shared memory by zone name. */
  readonly zones: ReadonlyMap<string, SharedArrayBuffer>;
  readonly counters: CounterMemory;
  /** What the modules' `prepare` provided. */
  readonly provided: ReadonlyMap<string, unknown>;
}

/** What a worker thread starts with. */
export interface WorkerStart {
  readonly workerId: number;
  /**
   * One `Int32` per worker at its id: a counter that moves as long as the worker's event loop turns. At 0: 1 once the
   * gateway is about to stop.
   */
  readonly heartbeats: SharedArrayBuffer;
  readonly shipment: Shipment;
  readonly openings: Openings;
  /** To the thread that accepts connections of ports that this process may not bind. */
  readonly acceptor: MessagePort | undefined;
}

/** By their key: ports that this process may not bind, and how this worker comes by them. */
export type Openings = ReadonlyMap<string, Opening>;

/** Master to worker. A reload is two steps, so that a configuration that one worker cannot open is refused by all. */
export type ToWorker =
  | { readonly type: 'prepare'; readonly shipment: Shipment; readonly openings: Openings }
  | { readonly type: 'switch' }
  | { readonly type: 'discard' }
  | { readonly type: 'reopen' }
  | { readonly type: 'stop'; readonly graceful: boolean }
  /** What it was busy with was broken off: nothing of it can be relied on. */
  | { readonly type: 'interrupted' };

/** Worker to master; every answer comes in the order of its questions, `listening` or `refused` before all. */
export type FromWorker =
  | { readonly type: 'listening' }
  | { readonly type: 'prepared' }
  | { readonly type: 'refused'; readonly reason: string }
  | { readonly type: 'switched' }
  | { readonly type: 'crashed'; readonly reason: string };
