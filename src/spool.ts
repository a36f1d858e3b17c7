import { randomInt } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemFailure } from './system/index.ts';
import { type Exchange, HttpFault, stateKey } from './http/index.ts';

/** Where temporary files are created, and whether they keep their names. */
interface SpoolDirectory {
  /** Default: the system's directory for temporary files. */
  readonly path?: string | undefined;
  /** The number of hexadecimal digits in the names of each level's directories. */
  readonly levels?: readonly number[] | undefined;
  /** False: the file is removed from its directory immediately after it was created. */
  readonly named: boolean;
}

const READ_BYTES = 65_536;
const NAME_DIGITS = 10;
const MOST_TRIES = 10;
const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * A temporary file that a request writes once and may read several times. Its failures are `HttpFault`s with status
 * 500.
 */
class SpoolFile {
  readonly path: string;
  readonly #handle: FileHandle;
  #length = 0;
  #closed: Promise<void> | undefined;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  /** Creates a file that only this user can read. */
  static async create(directory: SpoolDirectory): Promise<SpoolFile> {
    const file = await openNew(directory);
    try {
      if (!directory.named) await rm(file.path, { force: true });
    } catch (error) {
      await file.close();
      throw new HttpFault(500, systemFailure('unlink', file.path, error), { cause: error });
    }
    return file;
  }

  static async open(path: string): Promise<SpoolFile> {
    return new SpoolFile(path, await open(path, FLAGS, 0o600));
  }

  /** Appends a piece. Must not be called again before it resolves. */
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

  /** Yields what has been written so far. Ends early if the file is closed meanwhile. */
  async *pieces(): AsyncGenerator<Buffer, void, undefined> {
    for (let position = 0; position < this.#length && !this.#closed;) {
      const piece = await this.#read(position);
      if (piece.byteLength === 0) return;
      position += piece.byteLength;
      yield piece;
    }
  }

  /** Waits for pending reads and writes. Never fails. */
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

/** Names are random, since several processes may share a directory. */
async function openNew(directory: SpoolDirectory): Promise<SpoolFile> {
  for (let tries = 1; ; tries++) {
    const { directories, path } = newPath(directory);
    try {
      return await openIn(directories, path);
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
      if (!isTaken || tries === MOST_TRIES)
        throw new HttpFault(500, systemFailure('open', path, error), { cause: error });
    }
  }
}

/** Creates the directories only if opening the file shows that they are missing. */
async function openIn(directories: readonly string[], path: string): Promise<SpoolFile> {
  try {
    return await SpoolFile.open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // If this fails, the next call reports a better error.
  for (const directory of directories) await mkdir(directory, { mode: 0o700 }).catch(() => undefined);
  return SpoolFile.open(path);
}

/**
 * Returns a path such as `0000123456` below directories named after its last digits, the last ones first (nginx
 * ngx_create_hashed_filename).
 */
function newPath({ path = tmpdir(), levels = [] }: SpoolDirectory): {
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

/** The rules for storing a body; a location's core configuration has these fields. */
interface SpoolRules {
  /** Larger bodies are written to a file. */
  readonly bodyBufferBytes: number;
  readonly bodyTempPath?: { readonly path: string; readonly levels: readonly number[] } | undefined;
  /** `clean` and `on`: always in a named file; `on` keeps it. */
  readonly bodyInFileOnly: 'off' | 'clean' | 'on';
}

/** A complete request body that can be sent several times. */
export interface SpooledBody {
  readonly length: number;
  /** The whole body, unless it is in a file. */
  readonly bytes: Buffer | undefined;
  /** The file's path if it has a name: `$request_body_file`. */
  readonly path: string | undefined;
  /** Yields the body in pieces that the caller may keep. */
  pieces(): AsyncIterable<Buffer>;
  /** Closes the file; a body in memory stays readable. Must be called when the request no longer needs the body. */
  close(): Promise<void>;
}

/** The part of an exchange that spooling needs. */
export type BodyExchange = Pick<Exchange, 'readPieces' | 'setState'>;

const SPOOLED = stateKey<SpooledBody>('spooled body');

/** Returns the body that `spoolBody` has stored, for variables. */
export function spooledBody(x: Pick<Exchange, 'state'>): SpooledBody | undefined {
  return x.state(SPOOLED);
}

/**
 * Reads the whole request body in bounded memory: the client is held back while a file is written. Returns `undefined`
 * if an error response was sent (413, 408) or the client closed the connection; the caller then returns. Rejects with
 * an `HttpFault` if the file cannot be written.
 */
export async function spoolBody(x: BodyExchange, rules: SpoolRules): Promise<SpooledBody | undefined> {
  const spool = new BodySpool(rules);
  try {
    if (await x.readPieces((piece) => spool.add(piece))) {
      const body = spool.finish();
      x.setState(SPOOLED, body);
      return body;
    }
  } catch (error) {
    await spool.discard();
    throw error;
  }
  await spool.discard();
  return undefined;
}

class BodySpool {
  readonly #rules: SpoolRules;
  #waiting: Buffer[] = [];
  #length = 0;
  #file: SpoolFile | undefined;
  /** Set before the file is open: the client may close the connection meanwhile. */
  #opening: Promise<SpoolFile> | undefined;

  constructor(rules: SpoolRules) {
    this.#rules = rules;
  }

  add(piece: Buffer): void | Promise<void> {
    this.#length += piece.byteLength;
    if (this.#file) return this.#file.append(piece);
    this.#waiting.push(piece);
    if (this.#length > this.#rules.bodyBufferBytes || this.#rules.bodyInFileOnly !== 'off')
      return this.#spill();
  }

  finish(): SpooledBody {
    if (this.#file) return new BodyInFile(this.#file, this.#length, this.#rules.bodyInFileOnly);
    const [only] = this.#waiting;
    return new BodyInMemory(only && this.#waiting.length === 1 ? only : Buffer.concat(this.#waiting));
  }

  /** Drops the body. */
  async discard(): Promise<void> {
    const file = await this.#opening?.catch(() => undefined);
    if (!file) return;
    await file.close();
    if (this.#rules.bodyInFileOnly !== 'off') await rm(file.path, { force: true });
  }

  async #spill(): Promise<void> {
    const { bodyTempPath, bodyInFileOnly } = this.#rules;
    this.#opening = SpoolFile.create({ ...bodyTempPath, named: bodyInFileOnly !== 'off' });
    this.#file = await this.#opening;
    const waiting = Buffer.concat(this.#waiting);
    this.#waiting = [];
    await this.#file.append(waiting);
  }
}

class BodyInMemory implements SpooledBody {
  readonly bytes: Buffer;
  readonly path = undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get length(): number {
    return this.bytes.byteLength;
  }

  // eslint-disable-next-line typescript/require-await -- both kinds are read alike
  async *pieces(): AsyncGenerator<Buffer, void, undefined> {
    if (this.length > 0) yield this.bytes;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class BodyInFile implements SpooledBody {
  readonly length: number;
  readonly bytes = undefined;
  readonly path: string | undefined;
  readonly #file: SpoolFile;
  readonly #removes: boolean;

  constructor(file: SpoolFile, length: number, inFileOnly: SpoolRules['bodyInFileOnly']) {
    this.#file = file;
    this.length = length;
    this.path = inFileOnly === 'off' ? undefined : file.path;
    this.#removes = inFileOnly === 'clean';
  }

  pieces(): AsyncIterable<Buffer> {
    return this.#file.pieces();
  }

  async close(): Promise<void> {
    await this.#file.close();
    if (this.#removes) await rm(this.#file.path, { force: true });
  }
}
