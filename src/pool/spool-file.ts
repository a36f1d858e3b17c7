import { randomInt } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpFault } from '../http/index.ts';
import { systemFailure } from '../log/index.ts';

/** Where temporary files go, and whether they have a name while they are there. */
export interface SpoolPlace {
  /** Absent: the system's directory for temporary files. */
  readonly path?: string | undefined;
  /** Hexadecimal digits that the directories of each level have in their name. */
  readonly levels?: readonly number[] | undefined;
  /** False: nobody finds the file by its name; it is gone from the directory at once. */
  readonly named: boolean;
}

const READ_BYTES = 65_536;
const NAME_DIGITS = 10;
const MOST_TRIES = 10;
const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A file that one request writes once and reads as often as it needs. Its failures are faults of the answer (500). */
export class SpoolFile {
  readonly path: string;
  readonly #handle: FileHandle;
  #length = 0;
  #closed: Promise<void> | undefined;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  /** Makes a file that only this user may read. */
  static async create(place: SpoolPlace): Promise<SpoolFile> {
    const file = await openNew(place);
    try {
      if (!place.named) await rm(file.path, { force: true });
    } catch (error) {
      await file.close();
      throw new HttpFault(500, systemFailure('unlink', file.path, error), { cause: error });
    }
    return file;
  }

  static async open(path: string): Promise<SpoolFile> {
    return new SpoolFile(path, await open(path, FLAGS, 0o600));
  }

  /** One piece at a time: the next when the last one is written. */
  async append(piece: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < piece.byteLength;) {
        const rest = piece.byteLength - at;
        const { bytesWritten } = await this.#handle.write(piece, at, rest, this.#length);
        at += bytesWritten;
        this.#length += bytesWritten;
      }
    } catch (error) {
      throw new HttpFault(500, systemFailure('write', this.path, error), { cause: error });
    }
  }

  /** From the start to what is written by now. Ends early when the file is closed meanwhile. */
  async *pieces(): AsyncGenerator<Buffer, void, undefined> {
    for (let position = 0; position < this.#length && !this.#closed;) {
      const piece = await this.#read(position);
      if (piece.byteLength === 0) return;
      position += piece.byteLength;
      yield piece;
    }
  }

  /** Waits for what is being read or written. Never fails. */
  close(): Promise<void> {
    this.#closed ??= this.#handle.close().catch(() => undefined);
    return this.#closed;
  }

  async #read(position: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, this.#length - position));
    try {
      const { bytesRead } = await this.#handle.read(buffer, 0, buffer.byteLength, position);
      return buffer.subarray(0, bytesRead);
    } catch (error) {
      throw new HttpFault(500, systemFailure('read', this.path, error), { cause: error });
    }
  }
}

/** Names are drawn at random: processes that share a directory do not know each other's. */
async function openNew(place: SpoolPlace): Promise<SpoolFile> {
  for (let tries = 1; ; tries++) {
    const { directories, path } = newPlace(place);
    try {
      return await openIn(directories, path);
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
      if (!isTaken || tries === MOST_TRIES)
        throw new HttpFault(500, systemFailure('open', path, error), { cause: error });
    }
  }
}

/** Makes the directories when the file shows that they are not there. */
async function openIn(directories: readonly string[], path: string): Promise<SpoolFile> {
  try {
    return await SpoolFile.open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // The next one, or the file, tells better what is wrong.
  for (const directory of directories) await mkdir(directory, { mode: 0o700 }).catch(() => undefined);
  return SpoolFile.open(path);
}

/** `0000123456` below directories named after its last digits, the last ones first (nginx ngx_create_hashed_filename). */
function newPlace({ path = tmpdir(), levels = [] }: SpoolPlace): {
  directories: readonly string[];
  path: string;
} {
  const name = String(randomInt(10 ** NAME_DIGITS)).padStart(NAME_DIGITS, '0');
  const directories = [path];
  let end = NAME_DIGITS;
  for (const digits of levels) {
    directories.push(join(directories.at(-1) as string, name.slice(Math.max(0, end - digits), end)));
    end -= digits;
  }
  return { directories, path: join(directories.at(-1) as string, name) };
}
