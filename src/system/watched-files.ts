import { readFileSync, type Stats, statSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { systemFailure } from './failure.ts';

/** What a file says, or why it says nothing: one line for a log, which names the file. */
export type FileContent<T> = { readonly value: T } | { readonly fault: string };

interface KnownFile<T> {
  readonly content: FileContent<T>;
  /** Changes whenever the file does. */
  readonly version: string;
  lookedAtMs: number;
  /** Since when the file is missing. */
  goneSinceMs?: number | undefined;
}

interface WatchedFilesParts<T> {
  /** Reads a text. A fault completes `the … in "file" cannot be used: `. */
  readonly parse: (text: string) => { readonly value: T } | { readonly fault: string };
  /** The files in messages: `keys`. */
  readonly what: string;
  readonly mostBytes: number;
  /** Called once for each change that cannot be used. */
  readonly tell: (fault: string) => void;
}

/** File names may contain variables. */
const MOST_FILES = 100;
/** For how long the content of a file counts that is gone: it may be being replaced, or have been taken away. */
const GONE_MS = 60_000;
/** A file is looked at no more often. */
const SHORTEST_CACHE_MS = 1_000;

/** Reads a file as a whole. */
export function readParsed<T>(
  path: string,
  { parse, what, mostBytes }: Omit<WatchedFilesParts<T>, 'tell'>,
): FileContent<T> {
  try {
    if (statSync(path).size > mostBytes)
      return { fault: `the ${what} in "${path}" cannot be used: more than ${mostBytes} bytes` };
    const content = parse(readFileSync(path, 'utf8'));
    return 'fault' in content
      ? { fault: `the ${what} in "${path}" cannot be used: ${content.fault}` }
      : content;
  } catch (error) {
    return { fault: systemFailure('open', path, error) };
  }
}

/**
 * Files that one worker reads while it serves. A file that has changed is read again. While its new content cannot be
 * used, because it is being written or has a fault, its last content stays; that of a file that is gone for a minute.
 */
export class WatchedFiles<T> {
  readonly #known = new LRUCache<string, KnownFile<T>>({ max: MOST_FILES });
  readonly #parts: WatchedFilesParts<T>;

  constructor(parts: WatchedFilesParts<T>) {
    this.#parts = parts;
  }

  /** Has every file looked at before its next use. */
  expire(): void {
    for (const known of this.#known.values()) known.lookedAtMs = 0;
  }

  /** Returns the content of a file, which is looked at again after `cacheMs`, and after one second at the earliest. */
  content(path: string, cacheMs: number, nowMs: number): FileContent<T> {
    const known = this.#known.get(path);
    const ageMs = nowMs - (known?.lookedAtMs ?? -Infinity);
    // Negative: the clock was set back.
    const isFresh = known && ageMs >= 0 && ageMs < Math.max(cacheMs, SHORTEST_CACHE_MS);
    return isFresh ? known.content : this.#look(path, known, nowMs);
  }

  #look(path: string, before: KnownFile<T> | undefined, nowMs: number): FileContent<T> {
    const version = versionOf(path);
    const isOver = nowMs - (before?.goneSinceMs ?? nowMs) >= GONE_MS;
    if (before?.version === version && !isOver) {
      before.lookedAtMs = nowMs;
      return before.content;
    }
    let content = readParsed(path, this.#parts);
    const mayStay = before && 'value' in before.content && !isOver;
    if ('fault' in content) {
      this.#parts.tell(content.fault);
      if (mayStay) content = before.content;
    }
    const goneSinceMs = version === GONE && mayStay ? nowMs : undefined;
    this.#known.set(path, { content, version, lookedAtMs: nowMs, goneSinceMs });
    return content;
  }
}

const GONE = 'ENOENT';

function versionOf(path: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs }: Stats = statSync(path);
    return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
