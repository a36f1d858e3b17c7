import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createTwoFilesPatch } from 'diff';
import { decodeText } from '../grammar/index.ts';

const BYTE_ORDER_MARK = '\uFEFF';

/** Replaces a file atomically and keeps its mode, encoding and byte order mark. A symbolic link is kept. */
export function replaceFile(name: string, text: string): void {
  try {
    replace(existing(name) ?? name, text);
  } catch (error) {
    // The error names the file instead of the temporary one.
    throw Object.assign(error as Error, { path: name });
  }
}

function replace(file: string, text: string): void {
  const old = existing(file) === undefined ? undefined : readFileSync(file);
  const beside = `${file}.gw-${process.pid}`;
  // Others may be able to write the directory; their links must not be followed.
  rmSync(beside, { force: true });
  const mode = old ? { mode: statSync(file).mode } : {};
  writeFileSync(beside, old ? inEncodingOf(old, text) : text, { ...mode, flag: 'wx' });
  renameSync(beside, file);
}

function existing(name: string): string | undefined {
  try {
    return realpathSync(name);
  } catch {
    return undefined;
  }
}

/** Returns the bytes of a text in the encoding of the old file, with its byte order mark. */
export function inEncodingOf(old: Uint8Array, text: string): string | Buffer {
  if (decodeText(old).invalidAt !== undefined) return Buffer.from(text, 'latin1');
  return Buffer.from(old.subarray(0, 3)).toString('utf8') === BYTE_ORDER_MARK ? BYTE_ORDER_MARK + text : text;
}

/** Returns the difference of two texts in the form of `diff -u`. */
export function patchOf(
  { name, text }: { readonly name: string; readonly text: string },
  changed: string,
): string {
  const patch = createTwoFilesPatch(name, name, text, changed);
  return patch.slice(patch.indexOf('--- '));
}
