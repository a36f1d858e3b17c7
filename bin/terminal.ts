import { readFileSync } from 'node:fs';
import { decodeText, printable, type Source } from '../grammar/index.ts';
import { systemFailure } from '../src/system/index.ts';

/** Returns the rows as lines with aligned columns. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** Returns a time in its two largest units: `3h 12m`. */
export function duration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = first < 0 ? parts.slice(-1) : parts.slice(first, first + 2);
  return shown.map(([count, unit]) => `${count}${unit}`).join(' ');
}

/** Returns a foreign text made safe for a terminal: control characters and line ends appear as `\u001b`. */
export function visible(text: string): string {
  // eslint-disable-next-line no-control-regex -- these must be escaped
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/**
 * Returns the message of an error in one line. A system error is printed in nginx's words with the name under which the
 * file was requested: `open() "a.conf" failed (2: No such file or directory)`.
 */
export function failureText(error: unknown, name?: string): string {
  const { syscall, path, message } = error as NodeJS.ErrnoException;
  const file = name ?? path;
  if (syscall === undefined || file === undefined) return printable(message);
  return systemFailure(syscall, printable(file), error);
}

/** Prints a failure on standard error, and returns the exit code. */
export function fail(message: string, code: number): number {
  process.stderr.write(`gw: ${message}\n`);
  return code;
}

/** Returns the text of a file, or of standard input for `-`; `undefined` after printing the reason if that fails. */
export function readText(file: string): Source | undefined {
  const name = file === '-' ? 'standard input' : file;
  try {
    return { name, text: decodeText(readFileSync(file === '-' ? 0 : file)).text };
  } catch (error) {
    process.stderr.write(`gw: ${failureText(error, name)}\n`);
    return undefined;
  }
}
