import { closeSync, constants, fstatSync, openSync, read, readSync, type Stats, statSync } from 'node:fs';
import { type Exchange, type Validators, validatorsOf } from '../../http/index.ts';
import type { SentFile } from '../../bodies/index.ts';

/** A system call that failed, with the name that nginx logs. */
export interface FileFault {
  readonly call: 'open()' | 'openat()' | 'stat()' | 'opendir()';
  readonly error: NodeJS.ErrnoException;
}

/** Tells whether the file does not exist. This is no fault if a file is only tested for. */
export function isAbsent({ error }: FileFault): boolean {
  return error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'ENAMETOOLONG';
}

/** Returns the status of nginx's response, and the level at which it logs the fault. */
export function severityOf(fault: FileFault): { readonly status: number; readonly level: 'error' | 'crit' } {
  if (isAbsent(fault)) return { status: 404, level: 'error' };
  const { code } = fault.error;
  if (code === 'EACCES' || code === 'ELOOP' || code === 'EMLINK') return { status: 403, level: 'error' };
  return { status: 500, level: 'crit' };
}

/** The properties of a file. */
export interface FileFacts {
  readonly kind: 'file' | 'directory' | 'other';
  readonly sizeBytes: number;
  /** Whole seconds since the epoch. */
  readonly modifiedSeconds: number;
}

/** An open file. The code that opened it releases it, once. */
export interface OpenFile extends FileFacts, SentFile {
  readonly sizeBytes: number;
  readonly validators: Validators;
}

/** Looks up and opens files, under the rules of one location. */
export interface Files {
  look(path: string, x: Exchange): FileFacts | FileFault;
  open(path: string, x: Exchange): OpenFile | FileFault;
}

/** O_NONBLOCK: opening a pipe must not block the worker until something writes to it. */
export const READ = constants.O_RDONLY | constants.O_NONBLOCK;

// Most tests for files find nothing, and throwing an error takes ten times as long as the test.
const ABSENT: FileFault = {
  call: 'stat()',
  error: Object.assign(new Error('ENOENT'), { code: 'ENOENT', errno: -2 }),
};

/** The files as they are on disk, without a cache. */
export const FRESH_FILES: Files = {
  look(path) {
    try {
      const stats = statSync(path, { throwIfNoEntry: false });
      return stats ? factsOf(stats) : ABSENT;
    } catch (error) {
      return { call: 'stat()', error: error as NodeJS.ErrnoException };
    }
  },
  open(path) {
    let fd: number | undefined;
    try {
      fd = openSync(path, READ);
      return new OpenedFile(fd, fstatSync(fd));
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      return { call: 'open()', error: error as NodeJS.ErrnoException };
    }
  },
};

/** Repeats the call to find the exact error: two errors mean "not found". */
export function exactFault(path: string, fault: FileFault): FileFault {
  if (fault !== ABSENT) return fault;
  try {
    statSync(path);
  } catch (error) {
    return { call: 'stat()', error: error as NodeJS.ErrnoException };
  }
  return fault;
}

/** Tells whether looking up or opening a file failed. */
export function isFault(outcome: FileFacts | FileFault): outcome is FileFault {
  return 'error' in outcome;
}

export function factsOf(stats: Stats): FileFacts {
  return {
    kind: kindOf(stats),
    sizeBytes: stats.size,
    modifiedSeconds: Math.floor(stats.mtimeMs / 1000),
  };
}

function kindOf(stats: Stats): FileFacts['kind'] {
  if (stats.isFile()) return 'file';
  return stats.isDirectory() ? 'directory' : 'other';
}

/** A file that was opened for one request. */
export class OpenedFile implements OpenFile {
  readonly kind: FileFacts['kind'];
  readonly sizeBytes: number;
  readonly modifiedSeconds: number;
  readonly stats: Stats;
  readonly #fd: number;

  constructor(fd: number, stats: Stats) {
    this.stats = stats;
    this.#fd = fd;
    this.kind = kindOf(stats);
    this.sizeBytes = stats.size;
    this.modifiedSeconds = Math.floor(stats.mtimeMs / 1000);
  }

  get validators(): Validators {
    return validatorsOf(this.modifiedSeconds, this.sizeBytes);
  }

  content(): Uint8Array {
    const bytes = Buffer.allocUnsafe(this.sizeBytes);
    return bytes.subarray(0, this.read(bytes, 0));
  }

  read(bytes: Buffer, from: number): number {
    let filled = 0;
    while (filled < bytes.length) {
      const read = readSync(this.#fd, bytes, filled, bytes.length - filled, from + filled);
      if (read === 0) break;
      filled += read;
    }
    return filled;
  }

  async readLater(bytes: Buffer, from: number): Promise<number> {
    let filled = 0;
    while (filled < bytes.length) {
      const bytesRead = await readPart(this.#fd, bytes.subarray(filled), from + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  }

  release(): void {
    closeSync(this.#fd);
  }
}

function readPart(fd: number, bytes: Buffer, from: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, bytes, 0, bytes.length, from, (error, bytesRead) =>
      error ? reject(error) : resolve(bytesRead),
    );
  });
}
