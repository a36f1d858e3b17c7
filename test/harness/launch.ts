import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Launched {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** `undefined` while it runs. */
  exit(): Exit | undefined;
  /** Both output streams so far. */
  output(): string;
  /** Resolves when the output matches; throws when the program ends first. */
  waitForOutput(pattern: RegExp): Promise<void>;
  /** Ends the program and waits for it. Throws when it, or a process it started, has to be killed. */
  stop(signal?: NodeJS.Signals): Promise<Exit>;
}

const STOP_TIMEOUT_MS = 15_000;

/** Starts a program as the leader of a process group that ends with this process, however that ends. */
export function launch(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): Launched {
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const pid = child.pid;
  if (pid === undefined) throw new Error(`cannot start "${command}"`);
  const dismissGuard = guard(pid);
  let output = '';
  let exit: Exit | undefined;
  const collect = (chunk: string) => (output += chunk);
  child.stdout.setEncoding('utf8').on('data', collect);
  child.stderr.setEncoding('utf8').on('data', collect);
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      // 'close' brings the last output, but never comes while a left-over child holds the stream.
      const finish = () => resolve((exit = { code, signal }));
      child.once('close', finish);
      setTimeout(finish, 200);
    });
  });

  const waitForOutput = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(output)) {
      if (exit) throw new Error(`"${command}" ended (${describeExit(exit)}): ${output}`);
      await sleep(5);
    }
  };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> => {
    if (!exit) child.kill(signal);
    try {
      await endOf(pid, exited);
    } finally {
      dismissGuard();
    }
    return exited;
  };
  return { pid, exited, exit: () => exit, output: () => output, waitForOutput, stop };
}

/** Kills the group if this process dies without cleaning up: the script's input then ends without its last line. */
function guard(group: number): () => void {
  // dash takes a group only behind `-s`.
  const script = 'read -r _ || kill -s KILL -- "-$1"';
  const stdio = ['pipe', 'ignore', 'ignore'] as const;
  const { stdin } = spawn('/bin/sh', ['-c', script, 'gw-test-guard', String(group)], {
    detached: true,
    stdio: [...stdio],
  });
  return () => void (stdin?.writableEnded || stdin?.end('\n'));
}

/** `exit code 1` or `SIGKILL`. */
export function describeExit({ code, signal }: Exit): string {
  return signal ?? `exit code ${code}`;
}

async function endOf(pid: number, exited: Promise<Exit>): Promise<void> {
  const timeout = new AbortController();
  const ended = await Promise.race([
    exited.then(() => true),
    sleep(STOP_TIMEOUT_MS, false, { signal: timeout.signal }).catch(() => false),
  ]);
  timeout.abort();
  const survivors = membersOf(pid);
  // A child of the program may end a moment after it.
  for (let waits = 0; ended && survivors.length > 0 && waits < 100; waits++) {
    await sleep(20);
    survivors.splice(0, survivors.length, ...membersOf(pid));
  }
  if (survivors.length === 0) return;
  process.kill(-pid, 'SIGKILL');
  throw new Error(
    `had to be killed ${ended ? 'after its leader ended' : 'in the end'}: ${survivors.join('; ')}`,
  );
}

/** Living processes of a process group, as `pid name`. Empty where there is no /proc. */
export function membersOf(group: number): string[] {
  const pids = readableDir('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    // pid (name) state ppid pgrp …; the name may hold blanks and brackets (proc(5)).
    const [, name, state, pgrp] = /\((.*)\) (\S) \d+ (\d+) /.exec(readable(`/proc/${pid}/stat`)) ?? [];
    return Number(pgrp) === group && state !== 'Z' ? [`${pid} ${name}`] : [];
  });
}

function readableDir(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function readable(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
