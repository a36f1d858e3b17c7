import { close, fstat, mkdir, open, read, rename, unlink, write } from 'node:fs';
import { promisify } from 'node:util';

// A `FileHandle` costs several times the CPU time of a file descriptor.
export const openFile = promisify(open);
export const closeFile = promisify(close);
export const statFile = promisify(fstat);
export const renameFile = promisify(rename);
export const unlinkFile = promisify(unlink);
export const makeDirectory = promisify(mkdir);
const readFile = promisify(read);
const writeFile = promisify(write);

/** Fills the buffer from an offset of the file; resolves with fewer bytes only if the file ends. */
export async function readAt(fd: number, bytes: Buffer, from: number): Promise<number> {
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await readFile(fd, bytes, filled, bytes.length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

/** Writes all bytes at an offset of the file. */
export async function writeAt(fd: number, bytes: Uint8Array, from: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength;) {
    const { bytesWritten } = await writeFile(fd, bytes, done, bytes.byteLength - done, from + done);
    done += bytesWritten;
  }
}
