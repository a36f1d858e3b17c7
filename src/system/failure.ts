import { getSystemErrorMap } from 'node:util';

/** Where the C library, and so every log that people search, has other words than Node.js. */
const WORDS: Readonly<Record<string, string>> = {
  EPERM: 'Operation not permitted',
  EISDIR: 'Is a directory',
  ENAMETOOLONG: 'File name too long',
  ELOOP: 'Too many levels of symbolic links',
  EMFILE: 'Too many open files',
  ENFILE: 'Too many open files in system',
  ENOSPC: 'No space left on device',
  EHOSTUNREACH: 'No route to host',
  ETIMEDOUT: 'Connection timed out',
  EROFS: 'Read-only file system',
  EPIPE: 'Broken pipe',
  ESRCH: 'No such process',
  EADDRINUSE: 'Address already in use',
  EADDRNOTAVAIL: 'Cannot assign requested address',
};

/** The failure of a system call as nginx logs it: `open() "/srv/a" failed (2: No such file or directory)`. */
export function systemFailure(call: string, subject: string, error: unknown): string {
  return `${call}() "${subject}" failed (${systemReason(error)})`;
}

/** What stands in the brackets: `2: No such file or directory`; the message of an error that no system call made. */
export function systemReason(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  const [name, words] = (errno !== undefined && getSystemErrorMap().get(errno)) || [];
  if (errno === undefined || name === undefined || words === undefined) return message;
  return `${-errno}: ${WORDS[name] ?? words.charAt(0).toUpperCase() + words.slice(1)}`;
}
