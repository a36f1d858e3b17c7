import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { dismiss, start, type StartOrder, type Told } from './starter.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Launched {
  /** Known once it is `started`. */
  readonly pid: number;
  readonly started: Promise<number>;
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
  return new Launch({ command, args, ...options, leads: true });
}

class Launch implements Launched {
  readonly started: Promise<number>;
  readonly exited: Promise<Exit>;
  readonly #command: string;
  #pid: number | undefined;
  #output = '';
  /** The end of the program; its last output may follow. */
  #ended: Exit | undefined;
  #exit: Exit | undefined;
  #begin!: (pid: number) => void;
  #refuse!: (reason: Error) => void;
  #finish!: (exit: Exit) => void;

  constructor(order: StartOrder) {
    this.#command = order.command;
    this.started = new Promise((resolve, reject) => ([this.#begin, this.#refuse] = [resolve, reject]));
    this.started.catch(() => undefined);
    this.exited = new Promise((resolve) => (this.#finish = resolve));
    start(order, (told) => this.#hear(told));
  }

  get pid(): number {
    if (this.#pid === undefined) throw new Error(`"${this.#command}" has not been started yet`);
    return this.#pid;
  }

  exit(): Exit | undefined {
    return this.#exit;
  }

  output(): string {
    return this.#output;
  }

  async waitForOutput(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#output)) {
      if (this.#exit)
        throw new Error(`"${this.#command}" ended (${describeExit(this.#exit)}): ${this.#output}`);
      await sleep(5);
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    const group = await this.started;
    if (!this.#ended) signalTo(group, signal);
    try {
      await endOf(group, this.exited);
    } finally {
      dismiss(group);
    }
    return this.exited;
  }

  #hear(told: Told): void {
    if (told.type === 'started') this.#begin((this.#pid = told.pid));
    else if (told.type === 'stdout' || told.type === 'stderr') this.#output += told.text;
    else if (told.type === 'ended') {
      const how = (this.#ended = { code: told.code, signal: told.signal });
      // 'closed' comes after the last output, but never while a left-over child holds the stream.
      setTimeout(() => this.#end(how), 200);
    } else if (told.type === 'closed') this.#end(this.#ended);
    else if (told.type === 'failed') {
      this.#output += `cannot start "${this.#command}": ${told.reason}`;
      this.#refuse(new Error(this.#output));
      this.#end({ code: 127, signal: null });
    }
  }

  #end(how: Exit | undefined): void {
    if (how) this.#finish((this.#exit ??= how));
  }
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
  signalTo(-pid, 'SIGKILL');
  throw new Error(
    `had to be killed ${ended ? 'after its leader ended' : 'in the end'}: ${survivors.join('; ')}`,
  );
}

/** The news that a process has ended may still be on their way. */
function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Living processes of a process group, as `pid name`. Empty where there is no /proc. */
export function membersOf(group: number): string[] {
  if (!isGroup(group)) return [];
  const pids = readableDir('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    // pid (name) state ppid pgrp …; the name may hold blanks and brackets (proc(5)).
    const [, name, state, pgrp] = /\((.*)\) (\S) \d+ (\d+) /.exec(readable(`/proc/${pid}/stat`)) ?? [];
    return Number(pgrp) === group && state !== 'Z' ? [`${pid} ${name}`] : [];
  });
}

/** Reading what /proc says about every process takes longer than to ask the kernel about one group. */
function isGroup(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
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
