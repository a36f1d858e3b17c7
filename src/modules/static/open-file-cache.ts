import { LRUCache } from 'lru-cache';
import type { Exchange, Validators } from '../../http/index.ts';
import { SMALL_FILE_BYTES } from '../../bodies/index.ts';
import { type FileFacts, type FileFault, type Files, isFault, type OpenFile } from './files.ts';

/** `open_file_cache` and its companions. */
export interface CacheRules {
  /** Maximum number of paths. */
  readonly max: number;
  /** A path that is not requested for this long is removed. */
  readonly inactiveMs: number;
  /** The time for which an entry is used without a new `stat`. */
  readonly validMs: number;
  /** Number of requests after which the file is kept open, or its content in memory. */
  readonly minUses: number;
  /** Also keeps entries for files that were not found. */
  readonly errors: boolean;
}

/** Limits of one cache regardless of the configuration: bytes of file contents and number of paths. */
const CONTENT_BYTES = 64 * 1024 * 1024;
const MOST_PATHS = 1_000_000;

/**
 * Caches the properties of paths. A small file is kept in memory and a large one open, so that the body always
 * belongs to the headers that were sent before it.
 */
export class OpenFileCache implements Files {
  readonly #files: Files;
  readonly #rules: CacheRules;
  readonly #entries: LRUCache<string, PathEntry>;

  /** `files` is used for paths that are not in the cache. */
  constructor(files: Files, rules: CacheRules) {
    this.#files = files;
    this.#rules = rules;
    const max = Math.min(rules.max, MOST_PATHS);
    this.#entries = new LRUCache<string, PathEntry>({
      max,
      maxSize: max + CONTENT_BYTES,
      sizeCalculation: ({ keptBytes }) => 1 + keptBytes,
      dispose: (entry) => entry.file?.forget(),
    });
  }

  look(path: string, x: Exchange): FileFacts | FileFault {
    const nowMs = Date.now();
    const known = this.#known(path, nowMs);
    if (known && this.#isValid(known, nowMs)) return known.outcome;
    const outcome = this.#files.look(path, x);
    this.#keep(path, { outcome, uses: known?.uses ?? 1, nowMs });
    return outcome;
  }

  open(path: string, x: Exchange): OpenFile | FileFault {
    const nowMs = Date.now();
    const known = this.#known(path, nowMs);
    if (known && this.#isValid(known, nowMs)) {
      if (known.file) return known.file.use();
      if (isFault(known.outcome)) return known.outcome;
    }
    const uses = known?.uses ?? 1;
    const opened = this.#files.open(path, x);
    const isKept = !isFault(opened) && opened.kind === 'file' && uses >= this.#rules.minUses;
    const file = isKept ? new SharedFile(opened).use() : undefined;
    this.#keep(path, { outcome: isFault(opened) ? opened : plain(opened), file, uses, nowMs });
    return file ?? opened;
  }

  /** Removes all entries; a file that is being sent is closed afterwards. */
  close(): void {
    this.#entries.clear();
  }

  #known(path: string, nowMs: number): PathEntry | undefined {
    const entry = this.#entries.get(path);
    if (!entry) return undefined;
    entry.uses = nowMs - entry.usedMs < this.#rules.inactiveMs ? entry.uses + 1 : 1;
    entry.usedMs = nowMs;
    return entry;
  }

  #isValid({ checkedMs }: PathEntry, nowMs: number): boolean {
    return nowMs - checkedMs < this.#rules.validMs;
  }

  #keep(path: string, { outcome, file, uses, nowMs }: CacheUpdate): void {
    this.#forgetInactive(nowMs);
    if (isFault(outcome) && !this.#rules.errors) {
      this.#entries.delete(path);
      return;
    }
    const keptBytes = file?.isSmall ? file.sizeBytes : 0;
    this.#entries.set(path, { outcome, file, uses, keptBytes, checkedMs: nowMs, usedMs: nowMs });
  }

  /** Removes unused entries when another is added, so that no timer is needed. */
  #forgetInactive(nowMs: number): void {
    for (const path of this.#entries.rkeys()) {
      const usedMs = this.#entries.peek(path)?.usedMs ?? 0;
      if (nowMs - usedMs < this.#rules.inactiveMs) return;
      this.#entries.delete(path);
    }
  }
}

interface PathEntry {
  readonly outcome: FileFacts | FileFault;
  readonly file: SharedFile | undefined;
  readonly checkedMs: number;
  readonly keptBytes: number;
  usedMs: number;
  uses: number;
}

interface CacheUpdate {
  readonly outcome: FileFacts | FileFault;
  readonly file?: SharedFile | undefined;
  readonly uses: number;
  readonly nowMs: number;
}

function plain({ kind, sizeBytes, modifiedSeconds }: FileFacts): FileFacts {
  return { kind, sizeBytes, modifiedSeconds };
}

/** A file that several requests may send at once. It is closed after the last one once the cache has removed it. */
class SharedFile implements OpenFile {
  readonly kind: FileFacts['kind'];
  readonly sizeBytes: number;
  readonly modifiedSeconds: number;
  readonly validators: Validators;
  readonly isSmall: boolean;
  readonly #opened: OpenFile;
  readonly #content: Uint8Array | undefined;
  #users = 0;
  #isRemembered = true;

  constructor(opened: OpenFile) {
    this.#opened = opened;
    this.kind = opened.kind;
    this.sizeBytes = opened.sizeBytes;
    this.modifiedSeconds = opened.modifiedSeconds;
    this.validators = opened.validators;
    this.isSmall = opened.sizeBytes <= SMALL_FILE_BYTES;
    if (!this.isSmall) return;
    // Not from the pool of small buffers: a long-lived slice would keep the whole pool in memory.
    const bytes = Buffer.allocUnsafeSlow(opened.sizeBytes);
    try {
      this.#content = bytes.subarray(0, opened.read(bytes, 0));
    } finally {
      opened.release();
    }
  }

  use(): this {
    this.#users++;
    return this;
  }

  content(): Uint8Array {
    return this.#content ?? this.#opened.content();
  }

  read(bytes: Buffer, from: number): number {
    if (!this.#content) return this.#opened.read(bytes, from);
    const piece = this.#content.subarray(from, from + bytes.length);
    bytes.set(piece);
    return piece.length;
  }

  async readLater(bytes: Buffer, from: number): Promise<number> {
    return this.#content ? this.read(bytes, from) : this.#opened.readLater(bytes, from);
  }

  release(): void {
    this.#users--;
    this.#closeUnused();
  }

  forget(): void {
    this.#isRemembered = false;
    this.#closeUnused();
  }

  #closeUnused(): void {
    if (!this.isSmall && !this.#isRemembered && this.#users === 0) this.#opened.release();
  }
}
