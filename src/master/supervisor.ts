import { type ChildProcess, fork, type SendHandle } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { BackOff } from './back-off.ts';
import { Keeper } from './keeper/index.ts';
import { OwnTime } from './own-time.ts';
import { commandName, nameProcess } from './process-files.ts';
import type { ToKeeper } from './rights/index.ts';

/** A message from the master to the supervisor. */
export type ToSupervisor =
  | { readonly type: 'ready' }
  | { readonly type: 'alive' }
  /** The serving configuration, packed. */
  | { readonly type: 'keep'; readonly candidate: string }
  /** Asks for the configuration that served last, because the files cannot be loaded. */
  | { readonly type: 'last' };

/** The answer to `last`. */
export interface LastCandidate {
  readonly type: 'last';
  readonly candidate?: string | undefined;
}

const ENDING = ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const;
const OTHERS = ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;
const RESTART = { firstMs: 200, maxMs: 5_000, steadyMs: 60_000 };
/**
 * A master counts as hanging after this much of its own time (see `OwnTime`) without a heartbeat. Seconds are counted,
 * not measured, because this process may have been suspended as well.
 */
const MOST_SILENT_MS = 15_000;
/** Time to read a child's last messages; used up only if a process that the child left holds the channel. */
const LAST_WORDS_MS = 500;

/** Options of `supervise`. */
export interface SuperviseOptions {
  /** Called each time the gateway begins to serve. */
  readonly onReady?: () => void;
}

/**
 * Runs the master in a child process and restarts it when it dies. This process has no native code, so it survives
 * faults that kill the master: an abort inside uWebSockets.js, lack of memory, an endless loop. Resolves to the exit
 * code for the command line.
 */
export function supervise(args: readonly string[], { onReady }: SuperviseOptions): Promise<number> {
  return new Supervisor(args, onReady).run();
}

class Supervisor {
  readonly #args: readonly string[];
  readonly #command = commandName(process.argv[1] ?? 'gw');
  readonly #onReady: (() => void) | undefined;
  readonly #backOff = new BackOff(RESTART);
  readonly #pending = new Set<NodeJS.Signals>();
  #child: ChildProcess | undefined;
  /** The configuration that served last, as the master packed it. */
  #lastGood: string | undefined;
  /** True once the running master serves. Before that, any signal other than a stop would kill it. */
  #ready = false;
  #served = false;
  #stopping = false;
  #wake: (() => void) | undefined;

  constructor(args: readonly string[], onReady: (() => void) | undefined) {
    this.#args = args;
    this.#onReady = onReady;
    nameProcess('supervisor', this.#command);
    for (const signal of ENDING) process.on(signal, () => this.#end(signal));
    for (const signal of OTHERS) process.on(signal, () => this.#forward(signal));
    // Standard error may be a pipe whose reader has ended.
    process.stderr.on('error', () => undefined);
    // Node.js throws uncaught errors if a master writes anything other than messages to the channel.
    process.on('uncaughtException', ({ message }) => {
      this.#tell(message);
      this.#child?.kill('SIGKILL');
    });
  }

  /**
   * Runs masters until one stops. If the first start fails, the command fails; a gateway that has served once is always
   * restarted.
   */
  async run(): Promise<number> {
    let lastEnd: string | undefined;
    for (;;) {
      const startedMs = performance.now();
      const { code, signal } = await this.#runOnce(lastEnd);
      if (this.#stopping) return code ?? (ENDING.some((ending) => ending === signal) ? 0 : 1);
      if (code === 0 || !this.#served) return code ?? 1;
      lastEnd = signal ?? `code ${code}`;
      process.stderr.write(
        `gw: [alert] the master process ended unexpectedly (${lastEnd}), starting it again\n`,
      );
      await this.#pause(this.#backOff.after(performance.now() - startedMs));
      if (this.#stopping) return 0;
    }
  }

  #start(lastEnd: string | undefined): ChildProcess {
    return fork(fileURLToPath(new URL('../master/main.cjs', import.meta.url)), this.#args, {
      stdio: 'inherit',
      env: {
        // The C library gives many threads their own memory for reuse. With two arenas, 10,000 locations take 8 % less.
        MALLOC_ARENA_MAX: '2',
        ...process.env,
        GW_SUPERVISOR: String(process.pid),
        GW_COMMAND: this.#command,
        ...(lastEnd !== undefined && { GW_LAST_END: lastEnd }),
      },
    });
  }

  #runOnce(lastEnd: string | undefined): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const child = this.#start(lastEnd);
    this.#child = child;
    this.#ready = false;
    const keeper = this.#keeperOf(child);
    const ownTime = new OwnTime(child.pid ?? 0, child.pid ?? 0);
    let silentMs = 0;
    child.on('message', (message: ToSupervisor | ToKeeper | null) => {
      silentMs = 0;
      if (message !== null) this.#hear(message, keeper);
    });
    const watch = setInterval(() => {
      silentMs += ownTime.of(1_000);
      if (this.#ready && silentMs > MOST_SILENT_MS) child.kill('SIGKILL');
    }, 1_000);
    return new Promise((resolve) => {
      const ended = (code: number | null, signal: NodeJS.Signals | null): void => {
        clearInterval(watch);
        child.removeAllListeners('message');
        if (child.connected) child.disconnect();
        this.#lastGood = keeper.candidate ?? this.#lastGood;
        keeper.end();
        this.#ready = false;
        resolve({ code, signal });
      };
      child.once('exit', (code, signal) => void untilRead(child).then(() => ended(code, signal)));
      child.on('error', ({ message }) => {
        this.#tell(message);
        // If the process could not be started, there is no exit event.
        if (child.pid === undefined) ended(1, null);
      });
    });
  }

  #tell(trouble: string): void {
    process.stderr.write(`gw: [alert] supervisor: ${trouble}\n`);
  }

  #hear(message: ToSupervisor | ToKeeper, keeper: Keeper): void {
    if (message.type === 'ready') return this.#serves();
    if (message.type === 'last') {
      const answer: LastCandidate = { type: 'last', candidate: this.#lastGood };
      return void this.#child?.send(answer, () => undefined);
    }
    if (message.type === 'keep') {
      // After root has been given up, only the configurations that root itself has loaded are kept.
      if (keeper.candidate === undefined) this.#lastGood = message.candidate;
    } else if (message.type !== 'alive') keeper.receive(message);
  }

  /** Returns the keeper for a child that gives up root. This process is root and performs what needs root's rights. */
  #keeperOf(child: ChildProcess): Keeper {
    return new Keeper({
      source: this.#args[0] as string,
      pid: process.pid,
      // The child may end before the answer arrives.
      answer: (message, socket) => void child.send(message, socket as SendHandle, undefined, () => undefined),
    });
  }

  #serves(): void {
    this.#ready = this.#served = true;
    for (const signal of this.#pending) this.#child?.kill(signal);
    this.#pending.clear();
    this.#onReady?.();
  }

  #forward(signal: NodeJS.Signals): void {
    if (this.#ready) this.#child?.kill(signal);
    else this.#pending.add(signal);
  }

  #end(signal: NodeJS.Signals): void {
    this.#stopping = true;
    this.#child?.kill(signal);
    this.#wake?.();
  }

  async #pause(delayMs: number): Promise<void> {
    if (delayMs === 0 || this.#stopping) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, delayMs);
    });
  }
}

/** Resolves when all messages of an ended child have been read. */
async function untilRead(child: ChildProcess): Promise<void> {
  if (!child.connected) return;
  const signal = AbortSignal.timeout(LAST_WORDS_MS);
  await once(child, 'disconnect', { signal }).catch(() => undefined);
}
