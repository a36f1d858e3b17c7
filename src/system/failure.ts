import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';

/** Messages of strerror(3), as in other logs, that differ from those of libuv in more than a capital letter. */
const WORDS: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'Cannot assign requested address',
  EAFNOSUPPORT: 'Address family not supported by protocol',
  EBUSY: 'Device or resource busy',
  EEXIST: 'File exists',
  EHOSTUNREACH: 'No route to host',
  EIO: 'Input/output error',
  EISDIR: 'Is a directory',
  ELOOP: 'Too many levels of symbolic links',
  ENAMETOOLONG: 'File name too long',
  ENFILE: 'Too many open files in system',
  ENOMEM: 'Cannot allocate memory',
  ENOTSUP: 'Operation not supported',
  ETXTBSY: 'Text file busy',
  EXDEV: 'Invalid cross-device link',
};

/** Error numbers from here on are libuv's own: failures of name resolution, the end of a file. */
const FIRST_OF_LIBUV = 3000;

/** Returns the failure of a system call as nginx logs it: `open() "/srv/a" failed (2: No such file or directory)`. */
export function systemFailure(call: string, subject: string, error: unknown): string {
  return `${call}() "${subject}" failed (${systemReason(error)})`;
}

/**
 * Returns the text in the brackets: `2: No such file or directory`, or the message of an error that is not from a
 * system call.
 */
export function systemReason(error: unknown): string {
  const { errno, code = '', message } = error as NodeJS.ErrnoException;
  const { [code]: named } = constants.errno as Readonly<Record<string, number>>;
  const number = errno === undefined ? named : -errno;
  if (number === undefined || number >= FIRST_OF_LIBUV) return message;
  const [name = code, words = message] = getSystemErrorMap().get(-number) ?? [];
  return `${number}: ${WORDS[name] ?? words.charAt(0).toUpperCase() + words.slice(1)}`;
}

/** The texts of findings about a peer that cannot be reached. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
  ENOENT: 'there is no such socket or file',
  EACCES: 'permission denied',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'no response in time',
};

/** Returns the reason why a peer cannot be reached, in plain words; `undefined` if the error's message is better. */
export function unreachableReason({
  code = '',
  message,
}: Pick<NodeJS.ErrnoException, 'code' | 'message'>): string | undefined {
  return (
    UNREACHABLE[code] ?? (/\b(timeout|timed out)\b/i.test(message) ? UNREACHABLE['ETIMEDOUT'] : undefined)
  );
}
