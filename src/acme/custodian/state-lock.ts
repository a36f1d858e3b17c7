import { randomBytes } from 'node:crypto';
import { constants, readFileSync, readlinkSync } from 'node:fs';
import { type FileHandle, open, rename, rm, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject, parseJson } from '../../json.ts';
import { isAlive, makeDirectory } from '../../system/index.ts';

/** Who has written a lock. */
interface Holder {
  readonly pid: number;
  /** The system on which the number names a process: its start, and the space of its numbers. */
  readonly system: string;
  /** When the process started, in ticks; '' where the system does not say so. */
  readonly started: string;
  /** At random: a process takes the lock more than once. */
  readonly id: string;
}

interface StateLockParts {
  /** The `state_path`, absolute. */
  readonly root: string;
  /** Told once if another process holds the lock. */
  readonly waits: (pid: number | undefined) => void;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

const NAME = 'lock';
const PRIVATE = 0o700;
/** A longer file is no lock. */
const MOST_BYTES = 1_024;
/** How often it is looked whether the lock is still there, and whether one that others hold is free. */
const HELD_LOOK_MS = 2_000;
const WAITING_LOOK_MS = 500;
/** A holder that cannot be asked, as on another machine, has ended if its file stays the same for so long. */
const SILENCE_MS = 30_000;

/**
 * The file `lock` in a `state_path`, so that only one process writes there: during an upgrade there are two, and two gateways
 * may have been given the same directory. The holder touches it; one that was killed is recognized by its process, or by its
 * silence. Where the file cannot be made, as on a full disk, the lock counts as held: nothing is written there either.
 */
export class StateLock {
  readonly #parts: StateLockParts;
  readonly #path: string;
  readonly #text: string;
  readonly #ending = new AbortController();
  #isHeld = false;
  #isLost = false;
  #hasTold = false;
  #looking: Promise<void> | undefined;
  /** The file of another holder, and since when it has been the same. */
  #seen: { readonly version: string; readonly sinceMs: number } | undefined;

  constructor(parts: StateLockParts) {
    this.#parts = parts;
    this.#path = join(parts.root, NAME);
    this.#text = JSON.stringify({ ...thisProcess(), id: randomBytes(12).toString('base64url') });
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** True if others have taken the lock away, because this thread was silent. It never comes back. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Takes the lock now, or as soon as it is free. Resolves after the first try. */
  async open(): Promise<void> {
    const first = this.#look();
    this.#looking = first.then(() => this.#goOn());
    await first;
  }

  /** Gives up the lock. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#looking;
    const found = this.#isHeld ? await readLock(this.#path) : undefined;
    this.#isHeld = false;
    if (found?.text === this.#text) await rm(this.#path, { force: true }).catch(() => undefined);
  }

  async #goOn(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted && !this.#isLost) {
      const waitMs = this.#isHeld ? HELD_LOOK_MS : WAITING_LOOK_MS;
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await this.#look();
    }
  }

  async #look(): Promise<void> {
    const found = await readLock(this.#path);
    if (found?.text === this.#text) return touch(this.#path);
    this.#isLost = found !== undefined && this.#isHeld;
    const isFree = !this.#isLost && (!found || this.#isOver(found));
    if (found && isFree) await this.#remove(found.text);
    this.#isHeld = isFree && (await this.#make());
    if (this.#isHeld || this.#isLost) return;
    if (!this.#hasTold) this.#parts.waits(holderIn(found?.text ?? '')?.pid);
    this.#hasTold = true;
  }

  /** Whether the holder of a lock has ended, or is an earlier thread of this process. */
  #isOver({ text, version }: FoundLock): boolean {
    const { nowMs: clock = () => performance.now() } = this.#parts;
    const nowMs = clock();
    if (this.#seen?.version !== version) this.#seen = { version, sinceMs: nowMs };
    if (nowMs - this.#seen.sinceMs >= SILENCE_MS) return true;
    const holder = holderIn(text);
    const own = thisProcess();
    if (holder?.system !== own.system) return false;
    if (holder.pid === own.pid || !isAlive(holder.pid)) return true;
    const started = startOf(holder.pid);
    return started !== '' && holder.started !== '' && started !== holder.started;
  }

  /** Takes a lock away that is over. One that another process has made meanwhile is put back. */
  async #remove(text: string): Promise<void> {
    const aside = `${this.#path}.${process.pid}.0.new`;
    try {
      await rename(this.#path, aside);
      const moved = await readLock(aside);
      if (moved && moved.text !== text) await rename(aside, this.#path);
      else await rm(aside, { force: true });
    } catch {
      // It was removed by its holder.
    }
  }

  /** Returns false if another process has made the file. */
  async #make(): Promise<boolean> {
    let file: FileHandle | undefined;
    try {
      await makeDirectory(this.#parts.root, PRIVATE).catch(() => undefined);
      file = await open(this.#path, 'wx', 0o600);
      await file.writeFile(this.#text);
      return true;
    } catch (error) {
      // One without a text would keep others away for nothing.
      if (file) await rm(this.#path, { force: true }).catch(() => undefined);
      return (error as NodeJS.ErrnoException).code !== 'EEXIST';
    } finally {
      await file?.close().catch(() => undefined);
    }
  }
}

interface FoundLock {
  readonly text: string;
  /** Changes whenever the holder touches the file. */
  readonly version: string;
}

async function readLock(path: string): Promise<FoundLock | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { ino, mtimeMs, size } = await file.stat();
    const text = size <= MOST_BYTES ? await file.readFile('utf8') : '';
    return { text, version: `${ino} ${mtimeMs} ${text}` };
  } catch {
    // One that is there, but cannot be read, cannot be made either.
    return undefined;
  } finally {
    await file?.close().catch(() => undefined);
  }
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => undefined);
}

function holderIn(text: string): Holder | undefined {
  const json = parseJson(text);
  if (!isObject(json)) return undefined;
  const { pid, system, started, id } = json;
  const isRead =
    Number.isSafeInteger(pid) &&
    typeof system === 'string' &&
    typeof started === 'string' &&
    typeof id === 'string';
  return isRead ? { pid: pid as number, system, started, id } : undefined;
}

function thisProcess(): Omit<Holder, 'id'> {
  const { pid } = process;
  return { pid, system: systemId(), started: startOf(pid) };
}

/** The same only where numbers of processes mean the same: not in another container, nor after a restart of the machine. */
function systemId(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** When a process started, in ticks since the start of the machine (proc(5)). */
function startOf(pid: number): string {
  try {
    // pid (name) state …; the name may contain blanks and brackets.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
