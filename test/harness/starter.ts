import { type ChildProcess, spawn } from 'node:child_process';

/** A program to start. */
export interface StartOrder {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Standard input; without it the program has none. */
  readonly input?: string | undefined;
  /** The program leads a process group, which is killed when this process ends, however that ends. */
  readonly leads?: boolean;
}

/** The events of a program, in this order. A program that cannot be started has only `failed`. */
export type Told =
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'stdout' | 'stderr'; readonly text: string }
  /** Output may follow. */
  | { readonly type: 'ended'; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  /** All output has been read. */
  | { readonly type: 'closed' }
  | { readonly type: 'failed'; readonly reason: string };

/**
 * Starting a program copies the process for a moment, which takes 20 ms with the memory of a process of tests. So a
 * small process starts the programs. It ends with this one, and then kills the groups that are left.
 */
const STARTER = `
const { spawn } = require('node:child_process');
const groups = new Set();
process.on('message', ({ id, order, dismissed }) => (order ? start(id, order) : groups.delete(dismissed)));
function start(id, { command, args, cwd, env, input, leads = false }) {
  const tell = (told) => process.connected && process.send({ id, told }, () => undefined);
  const stdin = input === undefined ? 'ignore' : 'pipe';
  const child = spawn(command, args, { cwd, env, detached: leads, stdio: [stdin, 'pipe', 'pipe'] });
  child.on('error', ({ message }) => tell({ type: 'failed', reason: message }));
  if (child.pid === undefined) return;
  if (leads) groups.add(child.pid);
  tell({ type: 'started', pid: child.pid });
  // Not every program reads its input.
  child.stdin?.on('error', () => undefined).end(input);
  for (const type of ['stdout', 'stderr'])
    child[type].setEncoding('utf8').on('data', (text) => tell({ type, text }));
  child.on('exit', (code, signal) => tell({ type: 'ended', code, signal }));
  child.on('close', () => tell({ type: 'closed' }));
}
process.on('disconnect', () => {
  for (const group of groups) {
    try {
      process.kill(-group, 'SIGKILL');
    } catch {}
  }
  process.exit();
});
`;

let starter: ChildProcess | undefined;
let lastId = 0;
const listeners = new Map<number, (told: Told) => void>();

/** Starts a program, and reports its events until `closed` or `failed`. */
export function start(order: StartOrder, listener: (told: Told) => void): void {
  starter ??= beginStarter();
  const id = ++lastId;
  listeners.set(id, listener);
  // This process waits for its programs, but not for the starter.
  starter.channel?.ref();
  starter.send({ id, order: { ...order, env: order.env ?? process.env } });
}

/** The group has ended; another one may get its number. */
export function dismiss(group: number): void {
  starter?.send({ dismissed: group });
}

function beginStarter(): ChildProcess {
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const;
  const child = spawn(process.execPath, ['-e', STARTER], { detached: true, stdio: [...stdio] });
  child.on('message', ({ id, told }: { id: number; told: Told }) => {
    const listener = listeners.get(id);
    if (told.type === 'closed' || told.type === 'failed') listeners.delete(id);
    if (listeners.size === 0) child.channel?.unref();
    listener?.(told);
  });
  child.unref();
  return child;
}
