import { type Exchange, type FileBody, logContext, type ResponseStream } from './http/index.ts';
import type { ErrorLog } from './log/index.ts';
import { systemFailure } from './system/index.ts';

/** Files up to this size are read at once. */
export const SMALL_FILE_BYTES = 65_536;

/** A file that is being sent. The code that opened it releases it, once. */
export interface SentFile {
  readonly sizeBytes: number;
  /** Gives the whole content, which must not be changed; for small files. */
  content(): Uint8Array;
  /** Fills the buffer from an offset of the file; gives fewer bytes only if the file has become too short. For small files. */
  read(bytes: Buffer, from: number): number;
  /** The same without blocking the worker. The file must not be released, nor the buffer used, before it has settled. */
  readLater(bytes: Buffer, from: number): Promise<number>;
  release(): void;
  /** `read` and `content` would block the worker for long: even small parts are read later. */
  readonly isSlow?: boolean;
}

/** Bytes of a file that are read at a time: a read in another thread costs as much as sending some 50 KB. */
const PIECE_BYTES = 262_144;
/** The same while many clients are slow. */
const SMALL_PIECE_BYTES = 65_536;

/** Number of large buffers in one worker: 16 MB. */
const MOST_LARGE = 64;
/** Buffers that are kept for later files; further ones are garbage collected. */
const KEPT = 32;

/**
 * Buffers for pieces of files. They are reused because allocating one takes longer than reading into it. Each response holds one
 * until its client has taken the piece, so only some are large.
 */
export class PieceBuffers {
  readonly #free: Buffer[] = [];
  readonly #freeLarge: Buffer[] = [];
  #large = 0;

  take(): Buffer {
    if (this.#large >= MOST_LARGE) return this.#free.pop() ?? Buffer.allocUnsafeSlow(SMALL_PIECE_BYTES);
    this.#large++;
    return this.#freeLarge.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES);
  }

  /** Returns a buffer, which the caller must no longer use. */
  give(buffer: Buffer): void {
    const isLarge = buffer.length === PIECE_BYTES;
    if (isLarge) this.#large--;
    const free = isLarge ? this.#freeLarge : this.#free;
    if (free.length < KEPT) free.push(buffer);
  }
}

/** The response for a file; `path` is for the error log. */
export interface Sending {
  readonly status: number;
  readonly body: FileBody;
  readonly path: string;
  /** The length is not announced. */
  readonly hidesLength?: boolean;
}

/**
 * Sends files: small ones at once, large ones in pieces at the pace of the client. Pieces are read in Node's thread pool, so that
 * a slow disk delays no other request of the worker.
 */
export class FileSender {
  readonly #buffers: PieceBuffers;
  readonly #log: ErrorLog;

  constructor(buffers: PieceBuffers, log: ErrorLog) {
    this.#buffers = buffers;
    this.#log = log;
  }

  /** Sends the file and releases it, also if that fails. */
  send(x: Exchange, file: SentFile, sending: Sending): void | Promise<void> {
    const { status, body, hidesLength = false } = sending;
    let stream: ResponseStream | undefined;
    try {
      if (x.request.method !== 'HEAD' && !file.isSlow && !hidesLength && body.lengthBytes <= SMALL_FILE_BYTES)
        return x.send(status, body.contentType, assemble(file, body));
      stream = x.stream(status, body.contentType, hidesLength ? -1 : body.lengthBytes);
    } finally {
      if (!stream) file.release();
    }
    return stream && this.#pump(stream, file, { ...sending, x });
  }

  async #pump(
    stream: ResponseStream,
    file: SentFile,
    { x, body, path }: Sending & { x: Exchange },
  ): Promise<void> {
    const buffer = this.#buffers.take();
    try {
      for (const piece of piecesOf(body, buffer.length)) {
        const bytes = typeof piece === 'string' ? piece : await readPiece(file, buffer, piece);
        if (x.aborted) return;
        if (!stream.write(bytes)) await stream.drained();
      }
      stream.end();
    } catch (error) {
      this.#cut(x, path, error as NodeJS.ErrnoException);
    } finally {
      this.#buffers.give(buffer);
      file.release();
    }
  }

  /** The head has been sent already, so cutting the connection is the only way to show that the response is incomplete. */
  #cut(x: Exchange, path: string, error: NodeJS.ErrnoException): void {
    if (error instanceof Truncated)
      this.#log.write('alert', `${error.message} from "${path}"`, logContext(x));
    else this.#log.write('crit', systemFailure('pread', path, error), logContext(x));
    x.abort();
  }
}

/** The file has become shorter than the head announced. */
class Truncated extends Error {
  constructor(readBytes: number, wantedBytes: number) {
    super(`pread() read only ${readBytes} of ${wantedBytes}`);
  }
}

interface Piece {
  readonly at: number;
  readonly lengthBytes: number;
}

function* piecesOf({ parts, tail }: FileBody, mostBytes: number): Generator<string | Piece, void> {
  for (const { head, from, to } of parts) {
    if (head !== '') yield head;
    for (let at = from; at < to; at += mostBytes) yield { at, lengthBytes: Math.min(mostBytes, to - at) };
  }
  if (tail !== '') yield tail;
}

async function readPiece(file: SentFile, buffer: Buffer, { at, lengthBytes }: Piece): Promise<Buffer> {
  const bytes = buffer.subarray(0, lengthBytes);
  checkLength(await file.readLater(bytes, at), lengthBytes);
  return bytes;
}

function checkLength(readBytes: number, wantedBytes: number): void {
  if (readBytes < wantedBytes) throw new Truncated(readBytes, wantedBytes);
}

/** Builds the whole body of a small response. */
function assemble(file: SentFile, body: FileBody): Uint8Array {
  if (body.parts.length === 1 && body.lengthBytes === file.sizeBytes) return file.content();
  const bytes = Buffer.allocUnsafe(body.lengthBytes);
  let filled = 0;
  for (const { head, from, to } of body.parts) {
    filled += bytes.write(head, filled, 'latin1');
    checkLength(file.read(bytes.subarray(filled, filled + to - from), from), to - from);
    filled += to - from;
  }
  bytes.write(body.tail, filled, 'latin1');
  return bytes;
}
