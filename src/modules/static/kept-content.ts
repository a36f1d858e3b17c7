import { statfsSync, type Stats, statSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { type Exchange, type Validators, validatorsOf } from '../../http/index.ts';
import { SMALL_FILE_BYTES } from '../../bodies/index.ts';
import {
  type FileFacts,
  type FileFault,
  type Files,
  FRESH_FILES,
  isFault,
  OpenedFile,
  type OpenFile,
} from './files.ts';

/** Bytes of small files that one worker keeps in memory, and bytes that a file takes besides its content. */
const KEPT_BYTES = 16 * 1024 * 1024;
const ENTRY_BYTES = 512;

/**
 * A file that changed less than this before it was read may change again with the same time of change: file systems
 * count in ticks of up to 10 ms.
 */
const SETTLED_MS = 100;

/**
 * File systems whose `stat` may be outdated or whose times are unreliable: NFS, SMB, CIFS, 9p, Ceph, AFS, FUSE
 * (statfs(2), `f_type`).
 */
const REMOTE: ReadonlySet<number> = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x00c36400, 0x5346414f, 0x65735546,
]);

/**
 * The files as they are now, with the content of small ones kept in memory: one `stat` per request tells whether a file
 * is still the one that was read. Changes take effect at once. Those through a memory mapping do when the kernel writes
 * the page back, which sets the time of the file.
 */
export class KeptContent implements Files {
  readonly #entries = new LRUCache<string, KeptFile>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ sizeBytes }) => ENTRY_BYTES + sizeBytes,
  });

  look(path: string, x: Exchange): FileFacts | FileFault {
    return FRESH_FILES.look(path, x);
  }

  open(path: string, x: Exchange): OpenFile | FileFault {
    const kept = this.#entries.get(path);
    if (kept) {
      if (kept.isStill(statsOf(path))) return kept;
      this.#entries.delete(path);
    }
    const opened = FRESH_FILES.open(path, x);
    if (isFault(opened) || !(opened instanceof OpenedFile) || !isKeepable(opened)) return opened;
    return new ReadFile(opened, (content) => this.#keep(path, opened.stats, content));
  }

  close(): void {
    this.#entries.clear();
  }

  #keep(path: string, stats: Stats, content: Uint8Array): void {
    if (content.length === stats.size && !isRemote(path))
      this.#entries.set(path, new KeptFile(stats, content));
  }
}

const QUIETLY = { throwIfNoEntry: false } as const;

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, QUIETLY);
  } catch {
    // Opening the file gives the error.
    return undefined;
  }
}

function isKeepable({ kind, sizeBytes, stats }: OpenedFile): boolean {
  const changedMs = Math.max(stats.mtimeMs, stats.ctimeMs);
  return kind === 'file' && sizeBytes <= SMALL_FILE_BYTES && Date.now() - changedMs >= SETTLED_MS;
}

function isRemote(path: string): boolean {
  try {
    return REMOTE.has(statfsSync(path).type);
  } catch {
    return true;
  }
}

/** A small file that is read whole for one request, and kept for the next ones. */
class ReadFile implements OpenFile {
  readonly kind: FileFacts['kind'];
  readonly sizeBytes: number;
  readonly modifiedSeconds: number;
  readonly #opened: OpenedFile;
  readonly #keep: (content: Uint8Array) => void;

  constructor(opened: OpenedFile, keep: (content: Uint8Array) => void) {
    this.kind = opened.kind;
    this.sizeBytes = opened.sizeBytes;
    this.modifiedSeconds = opened.modifiedSeconds;
    this.#opened = opened;
    this.#keep = keep;
  }

  get validators(): Validators {
    return this.#opened.validators;
  }

  content(): Uint8Array {
    // Not from the pool of small buffers: a long-lived slice would keep the whole pool in memory.
    const bytes = Buffer.allocUnsafeSlow(this.sizeBytes);
    const content = bytes.subarray(0, this.#opened.read(bytes, 0));
    this.#keep(content);
    return content;
  }

  read(bytes: Buffer, from: number): number {
    return this.#opened.read(bytes, from);
  }

  readLater(bytes: Buffer, from: number): Promise<number> {
    return this.#opened.readLater(bytes, from);
  }

  release(): void {
    this.#opened.release();
  }
}

/** The content of a file, with the properties that tell whether the file has changed. */
class KeptFile implements OpenFile {
  readonly kind = 'file';
  readonly sizeBytes: number;
  readonly modifiedSeconds: number;
  readonly validators: Validators;
  readonly #stats: Stats;
  readonly #content: Uint8Array;

  constructor(stats: Stats, content: Uint8Array) {
    this.sizeBytes = stats.size;
    this.modifiedSeconds = Math.floor(stats.mtimeMs / 1000);
    this.validators = validatorsOf(this.modifiedSeconds, this.sizeBytes);
    this.#stats = stats;
    this.#content = content;
  }

  /** Tells whether the file is unchanged: a change of content, name or rights changes its `ctime` or its inode. */
  isStill(now: Stats | undefined): boolean {
    const then = this.#stats;
    return (
      now !== undefined &&
      now.ino === then.ino &&
      now.dev === then.dev &&
      now.size === then.size &&
      now.mtimeMs === then.mtimeMs &&
      now.ctimeMs === then.ctimeMs
    );
  }

  content(): Uint8Array {
    return this.#content;
  }

  read(bytes: Buffer, from: number): number {
    const piece = this.#content.subarray(from, from + bytes.length);
    bytes.set(piece);
    return piece.length;
  }

  async readLater(bytes: Buffer, from: number): Promise<number> {
    return this.read(bytes, from);
  }

  release(): void {
    // Nothing is open.
  }
}
