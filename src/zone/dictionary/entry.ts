/** What a dictionary stores. */
export type DictionaryValue = string | number | boolean;

/** How one thread uses a dictionary; the configuration may change it while the content stays. */
export interface DictionaryOptions {
  /** Lifetime of entries that are written without one, in milliseconds; 0 (the default): for ever. */
  readonly timeoutMs?: number;
  /** A write into a full dictionary drops the least recently used entries instead of failing. */
  readonly evict?: boolean;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** An entry as it stands in a dictionary. */
export interface DictionaryEntry {
  readonly key: string;
  readonly value: DictionaryValue;
  /** Milliseconds that it still lives; 0: it does not expire. */
  readonly ttlMs: number;
}

/** How full a dictionary is. Entries that have expired but were not looked for since still count. */
export interface DictionaryFacts {
  readonly entries: number;
  readonly freeBytes: number;
  readonly capacityBytes: number;
  /** Entries that made room for others since the dictionary was made. */
  readonly evicted: number;
}

/** What `incr` does for a key without value. */
export interface Increment {
  readonly init?: number | undefined;
  /** Milliseconds; 0: for ever; absent: the dictionary's own timeout. */
  readonly ttlMs?: number | undefined;
}

/** A part of the entries, and where the next part begins; `undefined`: this was the last one. */
export interface DictionaryPart {
  readonly entries: readonly DictionaryEntry[];
  readonly next: number | undefined;
}
