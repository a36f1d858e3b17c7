import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Gateway } from '../harness/gateway.ts';
import { perTier } from '../harness/tier.ts';

/** Loaded into every thread of the gateway with NODE_OPTIONS, so that the product needs no way to break itself. */
const SABOTEUR = `
const { threadId, workerData } = require('node:worker_threads');
const { existsSync, readFileSync, renameSync } = require('node:fs');
const cell = new Int32Array(new SharedArrayBuffer(4));
// The thread does nothing else meanwhile, but leaves its core to others: nobody wakes it.
const stay = (ms) => void Atomics.wait(cell, 0, 0, ms);
const acts = {
  throw: () => { throw new Error('sabotage'); },
  'throw without an end': () => void setInterval(acts.throw, 1),
  reject: () => void Promise.reject(new Error('sabotage')),
  spin: () => { for (;;); },
  hang: () => { for (;;) stay(5); },
  'hang in a promise': () => void Promise.resolve().then(acts.hang),
  'hang in ticks': () => { stay(5); process.nextTick(acts['hang in ticks']); },
  'hang in a pattern': () => /^(?:(?=a)a+)+$/.test('a'.repeat(60) + '-'),
  'hang in an immediate': () => void setImmediate(acts.hang),
  'hang in a request': () => {
    const { exec } = RegExp.prototype;
    RegExp.prototype.exec = function (text) {
      if (String(text).includes('/hangs')) acts.hang();
      if (String(text).includes('/slow')) stay(10);
      return exec.call(this, text);
    };
  },
  // The channel to the supervisor is the descriptor after the standard ones.
  garble: () => require('node:fs').writeSync(3, 'no message\\n'),
  acknowledge: () => require('node:fs').writeSync(3, '{"cmd":"NODE_HANDLE_ACK"}\\n'),
  // Nothing is ever written into the pipe.
  'hang outside of JavaScript': () => {
    require('node:child_process').execFileSync('mkfifo', ['silent']);
    readFileSync('silent');
  },
};
// A thread that has crashed serves on for a while, and is not made to crash again.
const timer = workerData?.workerId && setInterval(() => {
  // A look at a file that is not there costs less than the error of renaming it.
  if (!existsSync('sabotage')) return;
  try { renameSync('sabotage', 'sabotage.' + threadId); } catch { return; }
  const name = readFileSync('sabotage.' + threadId, 'utf8');
  if (/^(throw|reject)/.test(name)) clearInterval(timer);
  acts[name]();
}, 5).unref();
`;

/** For `startGateway`: the first worker that finds the file `sabotage` does what the file says. */
export const SABOTAGED = {
  files: { 'saboteur.cjs': SABOTEUR },
  env: { NODE_OPTIONS: '--require ./saboteur.cjs' },
} as const;

const WAYS_TO_HANG = [
  'hang in ticks',
  'hang in a pattern',
  'hang',
  'hang in a promise',
  'hang in an immediate',
  'spin',
] as const;

/** Each of these takes 2 s, and the pattern a core, too; other tests cover plain hangs and loops. */
export const HANGS = WAYS_TO_HANG.slice(0, perTier({ short: 2, long: WAYS_TO_HANG.length }));

export type Act =
  | 'throw'
  | 'throw without an end'
  | 'reject'
  | 'garble'
  | 'acknowledge'
  | (typeof WAYS_TO_HANG)[number]
  | 'hang in a request'
  | 'hang outside of JavaScript';

/** Makes one worker of the gateway in this directory do it now. */
export function sabotage({ dir }: Pick<Gateway, 'dir'>, act: Act): void {
  // The file appears complete: a worker may look at any time.
  writeFileSync(join(dir, 'sabotage.new'), act);
  renameSync(join(dir, 'sabotage.new'), join(dir, 'sabotage'));
}
