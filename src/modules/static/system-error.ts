import { getSystemErrorMap } from 'node:util';

/** A call into the system that failed, as nginx names it. */
export interface FileFault {
  readonly call: 'open()' | 'openat()' | 'stat()' | 'opendir()';
  readonly error: NodeJS.ErrnoException;
}

/** The words of strerror(3), where libuv has others than a capital letter. */
const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'Permission denied',
  EINVAL: 'Invalid argument',
  EIO: 'Input/output error',
  ELOOP: 'Too many levels of symbolic links',
  EMFILE: 'Too many open files',
  ENAMETOOLONG: 'File name too long',
  ENFILE: 'Too many open files in system',
  ENXIO: 'No such device or address',
  EPERM: 'Operation not permitted',
  ESTALE: 'Stale file handle',
};

/** `2: No such file or directory`, as nginx logs an error of the system. */
export function systemErrorText({ errno = 0, code = '', message }: NodeJS.ErrnoException): string {
  const words = WORDS[code] ?? capital(getSystemErrorMap().get(errno)?.[1] ?? message);
  return `${Math.abs(errno)}: ${words}`;
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

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
