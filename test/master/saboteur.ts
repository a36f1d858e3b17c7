import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Gateway } from '../harness/gateway.ts';

/** Loaded into every thread of the gateway with NODE_OPTIONS, so that the product needs no way to break it. */
const SABOTEUR = `
const { threadId, workerData } = require('node:worker_threads');
const { readFileSync, renameSync } = require('node:fs');
const acts = {
  throw: () => { throw new Error('sabotage'); },
  reject: () => void Promise.reject(new Error('sabotage')),
  hang: () => { for (;;); },
};
if (workerData?.workerId) setInterval(() => {
  try { renameSync('sabotage', 'sabotage.' + threadId); } catch { return; }
  const act = acts[readFileSync('sabotage.' + threadId, 'utf8')];
  act();
}, 5).unref();
`;

/** For `startGateway`: the first worker that finds the file `sabotage` does what it says. */
export const SABOTAGED = {
  files: { 'saboteur.cjs': SABOTEUR },
  env: { NODE_OPTIONS: '--require ./saboteur.cjs' },
} as const;

/** One worker does it now. */
export function sabotage(gw: Gateway, act: 'throw' | 'reject' | 'hang'): void {
  // Whole at once: a worker may look at any time.
  writeFileSync(join(gw.dir, 'sabotage.new'), act);
  renameSync(join(gw.dir, 'sabotage.new'), join(gw.dir, 'sabotage'));
}
