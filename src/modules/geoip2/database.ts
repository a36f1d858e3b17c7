import { readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { Reader, type Response } from 'mmdb-lib';

/** The records that a reader keeps decoded: most requests come from few networks. */
const MAX_DECODED = 10_000;

/** An open database. */
export interface Database {
  readonly reader: Reader<Response>;
  readonly changedMs: number;
}

/** Reads a database, or returns the reason why it cannot be read. */
export function openDatabase(file: string): Database | string {
  try {
    return { reader: readerOf(readFileSync(file)), changedMs: statSync(file).mtimeMs };
  } catch (error) {
    return reasonOf(error);
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined
    ? `not a MaxMind DB file (${message.split('\n', 1)[0]})`
    : `open() failed (${code})`;
}

function readerOf(bytes: Buffer): Reader<Response> {
  const decoded = new Map<string | number, unknown>();
  const cache = {
    get: (key: string | number) => decoded.get(key),
    set: (key: string | number, value: unknown) => {
      if (decoded.size >= MAX_DECODED) decoded.clear();
      decoded.set(key, value);
    },
  };
  return new Reader(bytes, { cache });
}

/** A database of one worker, which is read again when its file changes. */
export class GeoipDatabase {
  readonly #file: string;
  readonly #reloadMs: number;
  readonly #writeLog: (message: string) => void;
  #open: Database;
  #checkedMs = Date.now();

  /** Throws if the file cannot be read. */
  constructor(file: string, reloadMs: number, writeLog: (message: string) => void) {
    const opened = openDatabase(file);
    if (typeof opened === 'string') throw new Error(`MMDB_open("${file}") failed - ${opened}`);
    this.#file = file;
    this.#reloadMs = reloadMs;
    this.#writeLog = writeLog;
    this.#open = opened;
  }

  /** Returns the value at a path for an address; `undefined` if there is none. */
  find(address: string, path: readonly string[]): string | undefined {
    this.#follow();
    if (isIP(address) === 0) return undefined;
    try {
      return textAt(this.#open.reader.get(address), path);
    } catch (error) {
      this.#writeLog(`"${this.#file}" is damaged: ${(error as Error).message}`);
      return undefined;
    }
  }

  /** `build_epoch`, `last_check`, `last_change`: seconds since 1970. */
  metadata(field: string): string {
    this.#follow();
    const { metadata } = this.#open.reader;
    const ms =
      field === 'build_epoch'
        ? metadata.buildEpoch.getTime()
        : field === 'last_check'
          ? this.#checkedMs
          : this.#open.changedMs;
    return String(Math.floor(ms / 1000));
  }

  /** Looks for a newer file once per interval; requests use the open one meanwhile. */
  #follow(): void {
    if (this.#reloadMs === 0 || Date.now() - this.#checkedMs < this.#reloadMs) return;
    this.#checkedMs = Date.now();
    void this.#reload().catch((error: unknown) =>
      this.#writeLog(`"${this.#file}" cannot be read again: ${reasonOf(error)}`),
    );
  }

  async #reload(): Promise<void> {
    const { mtimeMs: changedMs } = await stat(this.#file);
    if (changedMs === this.#open.changedMs) return;
    this.#open = { reader: readerOf(await readFile(this.#file)), changedMs };
    this.#writeLog(`"${this.#file}" has changed and was read again`);
  }
}

/** Fields that are doubles: JavaScript cannot distinguish a whole one from an integer. */
const DOUBLES: ReadonlySet<string | undefined> = new Set(['latitude', 'longitude']);

/** Returns the text of the value at a path, as the module for nginx prints it; `undefined` for maps and lists. */
function textAt(record: unknown, path: readonly string[]): string | undefined {
  let value = record;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  if (typeof value === 'number' && (!Number.isInteger(value) || DOUBLES.has(path.at(-1))))
    return value.toFixed(5);
  if (typeof value === 'boolean') return value ? '1' : '0';
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : undefined;
}
