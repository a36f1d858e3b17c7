import type { Metric } from '../zone/index.ts';

/** Counted by the master; each worker opens it with 0. */
export const RESTARTS: Metric = {
  name: 'gw_worker_restarts_total',
  help: 'Worker threads that ended by accident and were replaced.',
};
