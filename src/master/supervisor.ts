import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Master to supervisor. */
export type ToSupervisor = { readonly type: 'ready' } | { readonly type: 'alive' };

const FORWARDED = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1'] as const;
const ENDING: ReadonlySet<string> = new Set(['SIGTERM', 'SIGINT', 'SIGQUIT']);
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;
/** A master that ran this long before it died starts again without delay. */
const STEADY_MS = 60_000;
/** A master that says nothing for so long hangs. */
const SILENCE_MS = 15_000;

/** What the command line wants to know. */
export interface SuperviseOptions {
  /** Each time the gateway begins to serve. */
  readonly onReady?: () => void;
}

/** How the supervised process ended; `started` when it had served. */
interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly started: boolean;
  readonly ranMs: number;
}

/**
 * Runs the master in a child process and starts it again when it dies. No native code, so that what kills the master
 * (an abort inside uWebSockets.js, memory, an endless loop) does not kill this. Gives the exit code for the command line.
 */
export async function supervise(args: readonly string[], { onReady }: SuperviseOptions): Promise<number> {
  const supervisor = new Supervisor(args, onReady);
  let delayMs = FIRST_DELAY_MS;
  for (;;) {
    const { code, signal, started, ranMs } = await supervisor.run();
    if (supervisor.stopping || !started || code === 0) return code ?? 1;
    process.stderr.write(
      `gw: [alert] the master process ended unexpectedly (${signal ?? `code ${code}`}); shared zones are lost, starting again\n`,
    );
    if (ranMs > STEADY_MS) delayMs = FIRST_DELAY_MS;
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
    if (supervisor.stopping) return 0;
  }
}

class Supervisor {
  stopping = false;
  #child: ChildProcess | undefined;
  readonly #args: readonly string[];
  readonly #onReady: (() => void) | undefined;

  constructor(args: readonly string[], onReady: (() => void) | undefined) {
    this.#args = args;
    this.#onReady = onReady;
    for (const signal of FORWARDED) {
      process.on(signal, () => {
        if (ENDING.has(signal)) this.stopping = true;
        this.#child?.kill(signal);
      });
    }
  }

  run(): Promise<Ending> {
    const startedAt = Date.now();
    const child = fork(fileURLToPath(new URL('../master/main.js', import.meta.url)), this.#args, {
      stdio: 'inherit',
      env: { ...process.env, GW_SUPERVISOR: String(process.pid) },
    });
    this.#child = child;
    let started = false;
    let silence: NodeJS.Timeout | undefined;
    child.on('message', ({ type }: ToSupervisor) => {
      if (type === 'ready') {
        started = true;
        this.#onReady?.();
      }
      clearTimeout(silence);
      silence = setTimeout(() => child.kill('SIGKILL'), SILENCE_MS);
    });
    return new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        clearTimeout(silence);
        resolve({ code, signal, started, ranMs: Date.now() - startedAt });
      });
    });
  }
}
