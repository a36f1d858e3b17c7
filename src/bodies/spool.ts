import { randomInt } from 'node:crypto';
import { close, constants, open, read, write } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemFailure } from '../system/index.ts';
import { type Exchange, HttpFault, stateKey } from '../http/index.ts';

/** The directory for temporary files, and whether they keep their names. */
interface SpoolDirectory {
  /** Default: the system's directory for temporary files. */
  readonly path?: string | undefined;
  /** The number of hexadecimal digits in the names of each level's directories. */
  readonly levels?: readonly number[] | undefined;
  /** False: the file is removed from its directory immediately after it was created. */
  readonly named: boolean;
}

// A `FileHandle` takes several times the CPU time of a file descriptor.
const openFile = promisify(open);
const readFile = promisify(read);
const writeFile = promisify(write);

const READ_BYTES = 131_072;
const NAME_DIGITS = 10;
const MOST_TRIES = 10;
const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** `O_TMPFILE` of Linux, which Node does not name: a file that never has a name. */
const UNNAMED_FLAGS = constants.O_RDWR | constants.O_EXCL | constants.O_DIRECTORY | 0o20000000;

/**
 * A temporary file that a request writes once and may read several times. Its failures are `HttpFault`s with status
 * 500.
 */
class SpoolFile {
  readonly path: string;
  readonly #descriptor: number;
  #length = 0;
  /** Pending reads and writes. The descriptor is closed after them, since its number may be reused at once. */
  #pending = 0;
  #closed: Promise<void> | undefined;
  #release: (() => void) | undefined;

  private constructor(path: string, descriptor: number) {
    this.path = path;
    this.#descriptor = descriptor;
  }

  /** Creates a file that only this user can read. */
  static async create(directory: SpoolDirectory): Promise<SpoolFile> {
    const unnamed = directory.named ? undefined : await SpoolFile.#openUnnamed(directory.path ?? tmpdir());
    if (unnamed) return unnamed;
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
    return new SpoolFile(path, await openFile(path, FLAGS, 0o600));
  }

  /** Creates a file without a name, if the file system supports it. */
  static async #openUnnamed(directory: string): Promise<SpoolFile | undefined> {
    if (!unnamedFiles.arePossible) return undefined;
    try {
      return new SpoolFile(directory, await openFile(directory, UNNAMED_FLAGS, 0o600));
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (NOT_SUPPORTED.has(code)) unnamedFiles.arePossible = false;
      return undefined;
    }
  }

  /** Appends a piece. Must not be called again before it resolves. */
  append(piece: Uint8Array): Promise<void> {
    return this.#use('write', async (descriptor) => {
      for (let at = 0; at < piece.byteLength;) {
        const rest = piece.byteLength - at;
        const { bytesWritten } = await writeFile(descriptor, piece, at, rest, this.#length);
        at += bytesWritten;
        this.#length += bytesWritten;
      }
    });
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
    this.#closed ??= new Promise((resolve) => {
      this.#release = () => close(this.#descriptor, () => resolve());
      if (this.#pending === 0) this.#release();
    });
    return this.#closed;
  }

  #read(position: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, this.#length - position));
    return this.#use('read', async (descriptor) => {
      const { bytesRead } = await readFile(descriptor, buffer, 0, buffer.byteLength, position);
      return buffer.subarray(0, bytesRead);
    });
  }

  async #use<T>(call: string, act: (descriptor: number) => Promise<T>): Promise<T> {
    if (this.#closed) throw new HttpFault(500, `${call}() "${this.path}" failed: the file is closed`);
    this.#pending++;
    try {
      return await act(this.#descriptor);
    } catch (error) {
      throw new HttpFault(500, systemFailure(call, this.path, error), { cause: error });
    } finally {
      if (--this.#pending === 0) this.#release?.();
    }
  }
}

/** If one temporary directory does not support files without names, all files get names, which are removed. */
const unnamedFiles = { arePossible: process.platform === 'linux' };
const NOT_SUPPORTED: ReadonlySet<string> = new Set(['EOPNOTSUPP', 'ENOTSUP', 'EISDIR', 'EINVAL']);

/** Creates a file with a random name, since several processes may share a directory. */
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

/** Opens a file. Creates its directories only if that fails because they are missing. */
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
export interface SpoolRules {
  /** Larger bodies are written to a file. */
  readonly bodyBufferBytes: number;
  readonly bodyTempPath?: { readonly path: string; readonly levels: readonly number[] } | undefined;
  /** `clean` and `on`: always in a named file; `on` keeps it. */
  readonly bodyInFileOnly: 'off' | 'clean' | 'on';
  /** Files have names although `bodyInFileOnly` is off, for `$request_body_file`; they are removed as with `clean`. */
  readonly namesFiles?: boolean;
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
export type BodyExchange = Pick<Exchange, 'done' | 'readPieces' | 'setState'>;

const SPOOLED = stateKey<SpooledBody>('spooled body');

/** Returns the body that `spoolBody` has stored, for variables. */
export function spooledBody(x: Pick<Exchange, 'state'>): SpooledBody | undefined {
  return x.state(SPOOLED);
}

/** Stores a body that was passed on while it was received, for variables and for other locations of the request. */
export function keepBody(x: Pick<Exchange, 'setState'>, bytes: Buffer): void {
  x.setState(SPOOLED, new BodyInMemory(bytes));
}

/** Returns the rules of a location; its files have names if its configuration asks for them by `$request_body_file`. */
export function spoolRules<Rules extends SpoolRules>(build: {
  readonly core: Rules;
  uses(variable: string): boolean;
}): Rules {
  return build.uses('request_body_file') ? { ...build.core, namesFiles: true } : build.core;
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
      const body = spool.finishInMemory() ?? (await spool.finishInFile());
      if (!x.done) {
        x.setState(SPOOLED, body);
        return body;
      }
    }
  } catch (error) {
    await spool.discard();
    throw error;
  }
  await spool.discard();
  return undefined;
}

/** A body that goes to a file is written in pieces of this size: each write takes a turn of Node's thread pool. */
const COLLECTED_BYTES = 131_072;
/** Limit for all bodies of a worker; beyond it, they are written as soon as they exceed their buffers. */
const MOST_COLLECTED_BYTES = 16_777_216;
/** Number of pieces that are joined to one: pieces of one byte would take a hundred times their size. */
const MOST_PIECES = 1_024;

/** Bytes that the bodies of this worker have collected. */
const collected = { bytes: 0 };

class BodySpool {
  readonly #rules: SpoolRules;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #length = 0;
  #file: SpoolFile | undefined;
  /** Set before the file is open, since the client may close the connection meanwhile. */
  #opening: Promise<SpoolFile> | undefined;

  constructor(rules: SpoolRules) {
    this.#rules = rules;
  }

  add(piece: Buffer): void | Promise<void> {
    if (this.#waiting.length >= MOST_PIECES) this.#waiting = [Buffer.concat(this.#waiting)];
    this.#waiting.push(piece);
    this.#waitingBytes += piece.byteLength;
    this.#length += piece.byteLength;
    collected.bytes += piece.byteLength;
    if (this.#waitingBytes > this.#roomBytes) return this.#spill().then(() => undefined);
  }

  /** Returns a body that needs no file. */
  finishInMemory(): SpooledBody | undefined {
    const { bodyBufferBytes, bodyInFileOnly } = this.#rules;
    const isSmall = this.#length <= bodyBufferBytes;
    return isSmall && bodyInFileOnly === 'off' ? new BodyInMemory(this.#take()) : undefined;
  }

  async finishInFile(): Promise<SpooledBody> {
    const file = this.#file && this.#waitingBytes === 0 ? this.#file : await this.#spill();
    const removes = this.#isNamed && this.#rules.bodyInFileOnly !== 'on';
    return new BodyInFile(file, this.#length, { isNamed: this.#isNamed, removes });
  }

  /** Drops the body. */
  async discard(): Promise<void> {
    this.#take();
    const file = await this.#opening?.catch(() => undefined);
    if (!file) return;
    await file.close();
    if (this.#isNamed) await rm(file.path, { force: true });
  }

  get #isNamed(): boolean {
    return this.#rules.bodyInFileOnly !== 'off' || this.#rules.namesFiles === true;
  }

  /** Maximum bytes that wait for the next write; 0 for a file with a name, which others may watch. */
  get #roomBytes(): number {
    const { bodyBufferBytes, bodyInFileOnly } = this.#rules;
    if (bodyInFileOnly !== 'off') return 0;
    return collected.bytes > MOST_COLLECTED_BYTES
      ? bodyBufferBytes
      : Math.max(bodyBufferBytes, COLLECTED_BYTES);
  }

  async #spill(): Promise<SpoolFile> {
    this.#opening ??= SpoolFile.create({ ...this.#rules.bodyTempPath, named: this.#isNamed });
    this.#file ??= await this.#opening;
    await this.#file.append(this.#take());
    return this.#file;
  }

  #take(): Buffer {
    const waiting = this.#waiting;
    collected.bytes -= this.#waitingBytes;
    this.#waiting = [];
    this.#waitingBytes = 0;
    const [only] = waiting;
    return only && waiting.length === 1 ? only : Buffer.concat(waiting);
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

  // eslint-disable-next-line typescript/require-await -- both kinds of bodies have this signature
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

  constructor(file: SpoolFile, length: number, { isNamed, removes }: { isNamed: boolean; removes: boolean }) {
    this.#file = file;
    this.length = length;
    this.path = isNamed ? file.path : undefined;
    this.#removes = removes;
  }

  pieces(): AsyncIterable<Buffer> {
    return this.#file.pieces();
  }

  async close(): Promise<void> {
    await this.#file.close();
    if (this.#removes) await rm(this.#file.path, { force: true });
  }
}
