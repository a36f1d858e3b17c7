import { crc32 } from 'node:zlib';
import type { CacheIndex } from '../../zone/index.ts';
import type { CacheDirectory } from './directory.ts';
import type { EntryName } from './entry-name.ts';
import {
  type Description,
  DESCRIPTION_AT,
  encodeDescription,
  encodePreamble,
  encodeTimes,
  type EntryTimes,
} from './entry-head.ts';
import { closeFile, readAt, writeAt } from './file-calls.ts';
import { SMALL_BODY_BYTES, StoredEntry } from './stored-entry.ts';

/** A response that is about to be stored. */
export interface Filling {
  readonly name: EntryName;
  readonly description: Description;
  readonly times: EntryTimes;
  /** `CacheIndex.purges` when its request began. */
  readonly since: number;
  /** Called when the response is stored, or will not be. */
  readonly done?: () => void;
}

/** The cache that a response goes to. */
export interface FillTarget {
  readonly index: CacheIndex;
  readonly directory: CacheDirectory;
  now(): number;
  /** Makes lookups of this worker wait for an entry. */
  arrives(digest: Buffer, arrival: Promise<void>): Promise<void>;
  /** Called when a file has got its name. */
  placed(name: EntryName, placed: Placed): void;
  notStored(reason: string): void;
  diskFault(call: string, error: unknown): void;
}

/** A response that has been stored. */
export interface Placed {
  readonly description: Description;
  readonly times: EntryTimes;
  readonly sizeBytes: number;
  /** Present if the body is small. */
  readonly entry: StoredEntry | undefined;
}

/**
 * Stores one response while it is received. A small body is written when it is complete; a larger one at once, to a
 * file that is not visible until then. A fault of the disk ends the storing; the response goes on without it.
 */
export class Fill {
  /** Called when more has been written, or the writing has ended. */
  onProgress: (() => void) | undefined = undefined;
  readonly #store: FillTarget;
  readonly #filling: Filling;
  readonly #description: Buffer;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #crc = 0;
  #receivedBytes = 0;
  #writtenBytes = 0;
  #part: { readonly fd: number; readonly path: string } | undefined = undefined;
  #writing: Promise<void> | undefined = undefined;
  #state: 'open' | 'complete' | 'over' = 'open';
  #holds = 0;
  #isDone = false;

  constructor(store: FillTarget, filling: Filling) {
    this.#store = store;
    this.#filling = filling;
    this.#description = encodeDescription(filling.description);
  }

  /** False: the response is no longer being stored. */
  get isStoring(): boolean {
    return this.#state !== 'over';
  }

  /** Bytes of the body that are on disk, for `read`. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Bytes that wait to be written. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Takes a piece of the body. Its content must not change after that. */
  add(piece: Buffer): void {
    if (this.#state !== 'open') return;
    this.#crc = crc32(piece, this.#crc);
    this.#receivedBytes += piece.length;
    this.#waiting.push(piece);
    this.#waitingBytes += piece.length;
    if (this.#receivedBytes > SMALL_BODY_BYTES) this.#write();
  }

  /** Keeps the file open for `read`, even if the response is stored or dropped meanwhile. */
  hold(): void {
    this.#holds++;
  }

  letGo(): void {
    this.#holds--;
    this.#closeUnlessHeld();
  }

  /** Reads bytes that were written, between `hold` and `letGo`. */
  read(bytes: Buffer, from: number): Promise<number> {
    if (!this.#part) return Promise.reject(new Error('nothing is written yet'));
    this.hold();
    return readAt(this.#part.fd, bytes, this.#bodyAt + from).finally(() => this.letGo());
  }

  /**
   * Called when the body is complete; from then on, lookups wait for the entry. Resolves when it can be found, or is
   * not stored after all. Never rejects.
   */
  async finish(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'complete';
    const { name, since, description } = this.#filling;
    const { digest } = name;
    const named = { digest, key: name.key, tags: description.tags };
    const verdict = this.#store.index.beginStore(named, { since, nowMs: this.#store.now() });
    if (verdict !== 'begun') return this.#end(verdict === 'purged' ? 'purged' : 'busy');
    await this.#store.arrives(digest, this.#complete());
  }

  async #complete(): Promise<void> {
    const { name, description, times } = this.#filling;
    try {
      await this.#place();
      this.#store.placed(name, {
        description,
        times,
        sizeBytes: this.#bodyAt + this.#receivedBytes,
        entry: this.#entryInMemory(),
      });
      await this.#end();
    } catch (error) {
      this.#store.index.finishStore(name.digest, undefined);
      await this.#fail(error);
    }
  }

  /** Ends the storing: the response is incomplete or must not be stored. */
  drop(reason: string): void {
    if (this.#state === 'open') void this.#end(reason);
  }

  get #bodyAt(): number {
    return DESCRIPTION_AT + this.#description.length;
  }

  #entryInMemory(): StoredEntry | undefined {
    if (this.#receivedBytes > SMALL_BODY_BYTES) return undefined;
    const { description, times } = this.#filling;
    const body = Buffer.allocUnsafeSlow(this.#receivedBytes);
    let filled = 0;
    for (const piece of this.#waiting) filled += piece.copy(body, filled);
    return new StoredEntry(
      { ...description, times, bodyAt: this.#bodyAt, bodyBytes: filled, bodyCrc: this.#crc },
      body,
    );
  }

  /** Completes the file and gives it its name. */
  async #place(): Promise<void> {
    await this.#writing;
    if (!this.isStoring) throw new Error('the response could not be written');
    const { name, times } = this.#filling;
    const { digest } = name;
    this.#part ??= await this.#store.directory.create(digest);
    const { fd, path } = this.#part;
    const length = { bodyBytes: this.#receivedBytes, bodyCrc: this.#crc };
    const head = [encodePreamble(this.#description, length), encodeTimes(times), this.#description];
    const isWritten = this.#writtenBytes > 0;
    await writeAt(fd, Buffer.concat(isWritten ? head : [...head, ...this.#waiting]), 0);
    if (isWritten) await this.#writeWaiting(fd);
    await this.#store.directory.publish(path, digest);
  }

  #write(): void {
    this.#writing ??= this.#writeAll()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#writing = undefined;
      });
  }

  async #writeAll(): Promise<void> {
    this.#part ??= await this.#store.directory.create(this.#filling.name.digest);
    while (this.#waiting.length > 0 && this.#state === 'open') await this.#writeWaiting(this.#part.fd);
  }

  async #writeWaiting(fd: number): Promise<void> {
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    await writeAt(fd, bytes, this.#bodyAt + this.#writtenBytes);
    this.#writtenBytes += bytes.length;
    // If the storing has ended meanwhile, the bytes that waited were dropped.
    this.#waitingBytes = Math.max(0, this.#waitingBytes - bytes.length);
    this.onProgress?.();
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#state === 'over') return;
    this.#store.diskFault('write', error);
    await this.#end('disk');
  }

  /** Releases the file. If no reason is given, it now belongs to the entry. */
  async #end(reason?: string): Promise<void> {
    this.#state = 'over';
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.onProgress?.();
    if (reason !== undefined) this.#store.notStored(reason);
    this.#filling.done?.();
    // The writing reports a fault of the disk itself.
    if (reason !== 'disk') await this.#writing;
    const part = this.#part;
    if (!part) return;
    if (reason !== undefined) await this.#store.directory.removePart(part.path).catch(() => undefined);
    this.#isDone = true;
    this.#closeUnlessHeld();
  }

  #closeUnlessHeld(): void {
    if (!this.#isDone || this.#holds > 0 || !this.#part) return;
    closeFile(this.#part.fd).catch(() => undefined);
    this.#part = undefined;
  }
}
