import { readFile, rename, stat } from 'node:fs/promises';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { isObject, parseJson } from '../json.ts';
import type { ErrorLog } from '../log/index.ts';
import { removeLeftovers, replaceDurably, systemFailure } from '../system/index.ts';
import type { SharedTextDeclaration } from './declaration.ts';
import type { Seat } from './seat.ts';
import { SharedText } from './shared-text/shared-text.ts';
import { zoneIdentity } from './zone-memory.ts';

/** The entries of a zone as a file keeps them: each has a key and a JSON value. */
export interface KeptEntries {
  /** Differs after each change. */
  readonly revision: number;
  readonly isEmpty: boolean;
  /** Returns a part of the entries, and the cursor of the next part. */
  scan(cursor: number): {
    readonly entries: readonly (readonly [key: string, value: unknown])[];
    readonly next: number | undefined;
  };
  /** Adds an entry of the file, if it has not expired. */
  add(key: string, value: unknown): 'done' | 'malformed' | 'no room';
}

/** A zone, and the file that keeps its entries. */
interface KeptZone {
  /** Absolute. */
  readonly path: string;
  /** For the log: `keyval zone "one"`. */
  readonly what: string;
  readonly sizeBytes: number;
  readonly entries: KeptEntries;
  readonly memory: SharedArrayBuffer;
  /** The memory that `stateZone` declares. */
  readonly agreement: SharedArrayBuffer;
  /** A change is in the file after this time. */
  readonly lateMs: number;
}

/** A zone as declared, with its file as written. */
interface DeclaredState {
  readonly name: string;
  readonly sizeBytes: number;
  readonly state: string;
}

interface StateScope {
  readonly workerId: number;
  readonly log: ErrorLog;
}

/** Looks for changes in the time in which one must be written; writes begin at most once in the rest of it. */
const LOOKS = 4;
/** After a write that took long, the next one begins after so many times that time. */
const PAUSE = 5;
/** A worker that is silent for so long is replaced. */
const SILENCE_MS = 5_000;
const WAIT_MS = 5;
/** How long the end of a configuration waits for another worker that writes. */
const PATIENCE_MS = 5_000;
/** Escapes make a text up to six times as long. */
const BYTES_PER_BYTE = 8;
const IDENTITY_BYTES = 64;
/** Entries that are added between two turns of the event loop. */
const ADDED_AT_ONCE = 1_000;

/** Declares the shared memory in which workers agree on who reads and writes the file. */
export function stateZone({ name, sizeBytes, state }: DeclaredState): SharedTextDeclaration {
  return { name: `state of ${name} ${sizeBytes} ${state}`, kind: 'shared text', bytes: IDENTITY_BYTES };
}

/**
 * The file that keeps the entries of a zone for the next start, as a JSON object. One worker reads it when the memory of
 * the zone is new, before anything is served; one of them writes it when entries have changed. Another file is written,
 * flushed and renamed.
 */
export class StateFile {
  /** Resolves when the zone has the entries of the file. */
  readonly ready: Promise<void>;
  readonly #zone: KeptZone;
  readonly #text: SharedText;
  readonly #seat: Seat;
  readonly #scope: StateScope;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<unknown> | undefined;
  #notBeforeMs = 0;
  /** The last failure of a write, which is logged once. */
  #failure = '';

  constructor(zone: KeptZone, scope: StateScope) {
    this.#zone = zone;
    this.#scope = scope;
    this.#text = new SharedText(zone.agreement, scope.workerId);
    this.#seat = this.#text.seat(0);
    this.ready = this.#restore().then(() => {
      this.#timer = setInterval(() => this.#look(), zone.lateMs / LOOKS).unref();
    });
  }

  /** Writes what has not been written yet. */
  async close(): Promise<void> {
    await this.ready;
    clearInterval(this.#timer);
    await this.#writing;
    const untilMs = performance.now() + PATIENCE_MS;
    while (this.#isChanged && performance.now() < untilMs) {
      if (!this.#seat.hold(SILENCE_MS)) await sleep(WAIT_MS);
      else if (!(await this.#write())) break;
    }
    this.#seat.leave();
  }

  get #isChanged(): boolean {
    return this.#zone.entries.revision !== this.#text.savedRevision;
  }

  /** Reads the file, unless another worker has done that, or an upgrade has brought the entries. */
  async #restore(): Promise<void> {
    const { memory, entries, path } = this.#zone;
    const identity = zoneIdentity(memory);
    while (this.#text.read()?.text !== identity) {
      if (!this.#seat.hold(SILENCE_MS)) {
        await sleep(WAIT_MS);
        continue;
      }
      await removeLeftovers(path);
      const isWhole = !entries.isEmpty || (await this.#read());
      // What could not be read has been put aside; a file with the rest is written at once.
      this.#text.savedRevision = isWhole ? entries.revision : ~entries.revision;
      this.#text.change(() => identity);
      this.#seat.leave();
    }
  }

  /** Fills the zone. Returns false if the file is not what will be kept. */
  async #read(): Promise<boolean> {
    const { path, sizeBytes } = this.#zone;
    try {
      const { size } = await stat(path);
      if (size > sizeBytes * BYTES_PER_BYTE) return await this.#putAside('it is too long for the zone');
      const kept = parseJson(await readFile(path, 'utf8'));
      if (!isObject(kept)) return await this.#putAside('it is not a JSON object');
      const fault = await this.#fill(Object.entries(kept));
      return fault === undefined || (await this.#putAside(fault));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
      return this.#putAside(systemFailure('open', path, error));
    }
  }

  /** Adds the entries. Returns why some of them are missing. */
  async #fill(kept: readonly (readonly [string, unknown])[]): Promise<string | undefined> {
    const counts = { done: 0, malformed: 0, 'no room': 0 };
    for (const [index, [key, value]] of kept.entries()) {
      counts[this.#zone.entries.add(key, value)] += 1;
      if (index % ADDED_AT_ONCE !== ADDED_AT_ONCE - 1) continue;
      this.#seat.hold(SILENCE_MS);
      await setImmediate();
    }
    if (counts.malformed > 0) return `${counts.malformed} of its entries are malformed`;
    return counts['no room'] > 0 ? `the zone has no room for ${counts['no room']} of its entries` : undefined;
  }

  /** Keeps a file that cannot be taken over under another name, since the next write would replace it. */
  async #putAside(why: string): Promise<false> {
    const { path, what } = this.#zone;
    const aside = `${path}.broken-${Date.now()}`;
    const message = `the state of ${what} in "${path}" was not taken over: ${why}`;
    try {
      await rename(path, aside);
      this.#scope.log.write('error', `${message}; it is kept as "${aside}"`);
    } catch (error) {
      this.#scope.log.write('error', `${message}; ${systemFailure('rename', path, error)}`);
    }
    return false;
  }

  #look(): void {
    if (this.#writing || !this.#seat.hold(SILENCE_MS)) return;
    if (!this.#isChanged || performance.now() < this.#notBeforeMs) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Returns false, after logging it, if the write has failed. */
  async #write(): Promise<boolean> {
    const { path, entries, lateMs } = this.#zone;
    const startMs = performance.now();
    try {
      const { revision } = entries;
      await replaceDurably(path, `${path}.${process.pid}.${this.#scope.workerId}.new`, await this.#whole());
      this.#text.savedRevision = revision;
      this.#failure = '';
      return true;
    } catch (error) {
      const failure = systemFailure('write', path, error);
      if (failure !== this.#failure) this.#scope.log.write('error', failure);
      this.#failure = failure;
      return false;
    } finally {
      const tookMs = performance.now() - startMs;
      this.#notBeforeMs = startMs + Math.max(lateMs - lateMs / LOOKS, PAUSE * tookMs);
    }
  }

  async #whole(): Promise<string> {
    const lines: string[] = [];
    for (let cursor: number | undefined = 0; cursor !== undefined;) {
      const { entries, next }: ReturnType<KeptEntries['scan']> = this.#zone.entries.scan(cursor);
      for (const [key, value] of entries) lines.push(`${JSON.stringify(key)}:${JSON.stringify(value)}`);
      cursor = next;
      this.#seat.hold(SILENCE_MS);
      if (cursor !== undefined) await setImmediate();
    }
    return `{${lines.join(',\n')}}\n`;
  }
}
