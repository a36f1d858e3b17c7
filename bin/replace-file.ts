import { readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createTwoFilesPatch } from 'diff';
import { decodeText } from '../grammar/index.ts';

const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Writes a file anew, with the mode, the encoding and the byte order mark that it has. It never leaves half a file: the new
 * one takes the place of the old one at once. A symbolic link stays one.
 */
export function replaceFile(name: string, text: string): void {
  try {
    replace(existing(name) ?? name, text);
  } catch (error) {
    // Nobody knows the name of the new one.
    throw Object.assign(error as Error, { path: name });
  }
}

function replace(file: string, text: string): void {
  const old = existing(file) === undefined ? undefined : readFileSync(file);
  const beside = `${file}.gw-${process.pid}`;
  writeFileSync(beside, old ? inEncodingOf(old, text) : text, old ? { mode: statSync(file).mode } : {});
  renameSync(beside, file);
}

function existing(name: string): string | undefined {
  try {
    return realpathSync(name);
  } catch {
    return undefined;
  }
}

/** A text in the encoding of what was there, with its byte order mark. */
export function inEncodingOf(old: Uint8Array, text: string): string | Buffer {
  if (decodeText(old).invalidAt !== undefined) return Buffer.from(text, 'latin1');
  return Buffer.from(old.subarray(0, 3)).toString('utf8') === BYTE_ORDER_MARK ? BYTE_ORDER_MARK + text : text;
}

/** What must change in a file, as `diff -u` prints it. */
export function patchOf(
  { name, text }: { readonly name: string; readonly text: string },
  changed: string,
): string {
  const patch = createTwoFilesPatch(name, name, text, changed);
  return patch.slice(patch.indexOf('--- '));
}
