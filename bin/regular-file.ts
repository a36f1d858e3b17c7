import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';

interface ReadingOptions {
  readonly mostBytes: number;
  /** Tells whether the file may be read; default: every regular one. */
  readonly accepts?: (found: Stats) => boolean;
  /** Further flags of open(2). */
  readonly flags?: number;
}

/** Reads a regular file. Throws for anything else, as a pipe, without waiting for its writer. */
export function readRegularFile(
  path: string,
  { mostBytes, accepts = () => true, flags = 0 }: ReadingOptions,
): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  try {
    const found = fstatSync(descriptor);
    if (found.isFile() && found.size <= mostBytes && accepts(found)) return readFileSync(descriptor);
    throw new Error(
      `"${path}" is not read: it is no regular file, is too large, or belongs to another account`,
    );
  } finally {
    closeSync(descriptor);
  }
}
