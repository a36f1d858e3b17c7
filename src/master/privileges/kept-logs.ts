import { closeSync, constants, openSync } from 'node:fs';
import { type HeldLog, type HeldLogs, identityOf, type LogOpener } from '../../log/index.ts';
import type { HandedLogs } from '../rights/index.ts';

const { O_APPEND, O_NONBLOCK, O_RDWR } = constants;

/**
 * The descriptors of logs that root has opened for this process. A thread reopens a log by its descriptor, since the
 * path may lead through directories that the account cannot enter.
 */
export class KeptLogs {
  readonly #opener: LogOpener;
  #serving: HeldLogs = {};
  #next: HeldLogs | undefined;

  /** `opener` is that of this thread. */
  constructor(opener: LogOpener) {
    this.#opener = opener;
  }

  /** The logs of the configuration that was loaded last. */
  get held(): HeldLogs {
    return this.#next ?? this.#serving;
  }

  /** Call this while the process is root, with logs that it has opened itself. */
  open(held: HeldLogs): void {
    this.#serving = held;
    this.#opener.use(held);
  }

  /** Takes the logs of another configuration, or the new files of this one. */
  take({ holder, held }: HandedLogs): void {
    this.refuse();
    const next: Record<string, HeldLog> = {};
    for (const [path, log] of Object.entries(held)) {
      const known = this.#serving[path];
      const taken = known?.identity === log.identity ? known : takenFrom(holder, log);
      if (taken) next[path] = taken;
    }
    if (holder !== undefined) end(holder);
    this.#next = next;
    this.#opener.use(next);
  }

  /** Called when all threads have opened the logs that were taken. */
  accept(): void {
    const before = this.#serving;
    this.#serving = this.held;
    this.#next = undefined;
    closeOthers(before, this.#serving);
  }

  /** Called when the logs that were taken will not be used. */
  refuse(): void {
    if (this.#next) closeOthers(this.#next, this.#serving);
    this.#next = undefined;
    this.#opener.use(this.#serving);
  }
}

/** Returns `undefined` if the descriptor no longer exists. The log is then opened by its path. */
function takenFrom(holder: number | undefined, { fd, identity }: HeldLog): HeldLog | undefined {
  let taken: number;
  try {
    // A pipe without a reader cannot be opened for writing only.
    taken = openSync(`/proc/${holder}/fd/${fd}`, O_RDWR | O_APPEND | O_NONBLOCK);
  } catch {
    return undefined;
  }
  if (identityOf(taken) === identity) return { fd: taken, identity };
  closeSync(taken);
  return undefined;
}

function end(holder: number): void {
  try {
    process.kill(holder, 'SIGKILL');
  } catch {
    // The process has ended by itself.
  }
}

function closeOthers(left: HeldLogs, kept: HeldLogs): void {
  const open = new Set(Object.values(kept).map(({ fd }) => fd));
  for (const { fd } of Object.values(left)) if (!open.has(fd)) closeSync(fd);
}
