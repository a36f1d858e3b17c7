import { printable, systemError } from '../grammar/index.ts';

/**
 * What went wrong, in one line. An error of the system is told in nginx's words, with the name by which the file was asked for:
 * `open() "a.conf" failed (2: No such file or directory)`.
 */
export function failureText(error: unknown, name?: string): string {
  const { syscall, path, message } = error as NodeJS.ErrnoException;
  const file = name ?? path;
  if (syscall === undefined || file === undefined) return printable(message);
  return `${syscall}() "${printable(file)}" failed (${systemError(error)})`;
}
