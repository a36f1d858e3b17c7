import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';

/** All that one load may read: sources and their repetitions. */
export const MAX_TOTAL_BYTES = 64 * 1024 * 1024;

/** What `${file:…}` may read. */
export const MAX_SECRET_BYTES = 64 * 1024;

/** Reads a whole file; throws as `node:fs` does, and an error with code `EFBIG` beyond `maxBytes`. */
export type ReadFile = (path: string, maxBytes: number) => Uint8Array | string;

const MIN_CHUNK_BYTES = 64 * 1024;

/** strerror(3), where libuv words it differently. */
const STRERROR: Readonly<Record<string, string>> = {
  EACCES: 'Permission denied',
  EFBIG: 'File too large',
  EISDIR: 'Is a directory',
  ELOOP: 'Too many levels of symbolic links',
  EMFILE: 'Too many open files',
  ENAMETOOLONG: 'File name too long',
  ENOENT: 'No such file or directory',
  ENOTDIR: 'Not a directory',
};

/** The default `ReadFile`. It reads to the end rather than to the size, so that pipes work and devices end. */
export function readFileBytes(path: string, maxBytes: number): Uint8Array {
  const fd = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    let total = 0;
    const chunkBytes = Math.max(MIN_CHUNK_BYTES, Math.min(fstatSync(fd).size, maxBytes) + 1);
    for (;;) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const length = readSync(fd, chunk);
      if (length === 0) return Buffer.concat(chunks, total);
      total += length;
      if (total > maxBytes) throw Object.assign(new Error(`${path} is too large`), { code: 'EFBIG' });
      chunks.push(chunk.subarray(0, length));
    }
  } finally {
    closeSync(fd);
  }
}

/**
 * The text of a file, without a byte order mark. nginx passes any bytes through; gw holds text, so a file that is not
 * UTF-8 is read as ISO 8859-1, in which every byte is a character; `invalidAt` is then where its first odd one stands.
 */
export function decodeText(bytes: Uint8Array | string): { text: string; invalidAt?: number } {
  if (typeof bytes === 'string') return { text: bytes.startsWith('\uFEFF') ? bytes.slice(1) : bytes };
  const text = new TextDecoder().decode(bytes);
  const odd = text.indexOf('\uFFFD');
  if (odd < 0 || Buffer.from(text).equals(withoutMark(bytes))) return { text };
  return { text: Buffer.from(bytes).toString('latin1'), invalidAt: Buffer.byteLength(text.slice(0, odd)) };
}

/** The `code` of a file system error. */
export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

/** A file system error as nginx prints it: `2: No such file or directory`. */
export function systemError(error: unknown): string {
  const code = errorCode(error);
  const number = (constants.errno as Readonly<Record<string, number>>)[code] ?? 0;
  return `${number}: ${STRERROR[code] ?? getSystemErrorMap().get(-number)?.[1] ?? (error as Error).message}`;
}

function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
