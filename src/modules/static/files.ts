import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import type { Exchange } from '../../http/index.ts';

/** A call into the system that failed, as nginx names it. */
export interface FileFault {
  readonly call: 'open()' | 'openat()' | 'stat()' | 'opendir()';
  readonly error: NodeJS.ErrnoException;
}

/** There is no such file: where somebody tests for one, that is an answer and no fault. */
export function isAbsent({ error }: FileFault): boolean {
  return error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'ENAMETOOLONG';
}

/** The status that nginx answers with, and the level at which it logs the fault. */
export function severityOf(fault: FileFault): { readonly status: number; readonly level: 'error' | 'crit' } {
  if (isAbsent(fault)) return { status: 404, level: 'error' };
  const { code } = fault.error;
  if (code === 'EACCES' || code === 'ELOOP' || code === 'EMLINK') return { status: 403, level: 'error' };
  return { status: 500, level: 'crit' };
}

/** What stands at a path. */
export interface FileFacts {
  readonly kind: 'file' | 'directory' | 'other';
  readonly sizeBytes: number;
  /** Whole seconds since the epoch. */
  readonly modifiedSeconds: number;
}

/** An open file. Whoever opened it releases it, once. */
export interface OpenFile extends FileFacts {
  /** All of it; for small files. Not to be changed. */
  content(): Uint8Array;
  /** Fills the bytes from a place of the file on; gives fewer only where the file has become too short. */
  read(bytes: Buffer, from: number): number;
  release(): void;
}

/** Looks at files and opens them, in one location. */
export interface Files {
  look(path: string, x: Exchange): FileFacts | FileFault;
  open(path: string, x: Exchange): OpenFile | FileFault;
}

/** Files of at most so many bytes are read at once. */
export const SMALL_FILE_BYTES = 65_536;

/** A pipe must not hold up the worker until somebody writes to it. */
export const READ = constants.O_RDONLY | constants.O_NONBLOCK;

// Somebody who tests for files mostly finds none, and to throw an error costs ten times as much as to look.
const ABSENT: FileFault = {
  call: 'stat()',
  error: Object.assign(new Error('ENOENT'), { code: 'ENOENT', errno: -2 }),
};

/** The files as they are now. */
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

/** Why exactly a path cannot be looked at: "not there" has two reasons. */
export function exactFault(path: string, fault: FileFault): FileFault {
  if (fault !== ABSENT) return fault;
  try {
    statSync(path);
  } catch (error) {
    return { call: 'stat()', error: error as NodeJS.ErrnoException };
  }
  return fault;
}

/** Whether a look or an opening failed. */
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

/** A file that one request has opened for itself. */
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

  release(): void {
    closeSync(this.#fd);
  }
}
