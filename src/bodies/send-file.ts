import { type Exchange, type FileBody, logContext, type ResponseStream } from '../http/index.ts';
import { roomFor } from './relay.ts';
import type { ErrorLog } from '../log/index.ts';
import { systemFailure } from '../system/index.ts';

/** Files up to this size are read at once. */
export const SMALL_FILE_BYTES = 65_536;

/** A file that is being sent. The code that opened it releases it, once. */
export interface SentFile {
  readonly sizeBytes: number;
  /** Returns the whole content, which must not be changed; for small files. */
  content(): Uint8Array;
  /** Fills the buffer from an offset. Returns fewer bytes only if the file has become too short. For small files. */
  read(bytes: Buffer, from: number): number;
  /** Does the same without blocking the worker. Until it settles, the file must not be released nor the buffer used. */
  readLater(bytes: Buffer, from: number): Promise<number>;
  release(): void;
  /** `read` and `content` would block the worker for long: `readLater` is used for small parts as well. */
  readonly isSlow?: boolean;
}

/** Bytes of a file that are read at a time: a read in another thread costs as much as sending some 50 KB. */
const PIECE_BYTES = 262_144;
/** The same while many clients are slow. */
const SMALL_PIECE_BYTES = 65_536;
/** The same while many bytes wait for the client of this response. */
const SMALLEST_PIECE_BYTES = 16_384;

/** Number of large buffers in one worker: 16 MB. */
const MOST_LARGE = 64;
/** Maximum number of unused buffers that are kept for each size. */
const KEPT = 32;

/**
 * Buffers for pieces of files. They are reused because allocating one takes longer than reading into it. Each response
 * holds one until its client has taken the piece, so only some are large.
 */
export class PieceBuffers {
  readonly #free = new Map<number, Buffer[]>();
  #large = 0;

  /** Returns a buffer for the next piece of a file, of at most `bytes`, in exchange for that of the previous piece. */
  next(bytes: number, before?: Buffer): Buffer {
    const size = this.#sizeFor(bytes, before);
    if (before?.length === size) return before;
    if (before) this.give(before);
    if (size === PIECE_BYTES) this.#large++;
    return this.#free.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size);
  }

  #sizeFor(bytes: number, before: Buffer | undefined): number {
    if (bytes <= SMALLEST_PIECE_BYTES) return SMALLEST_PIECE_BYTES;
    if (bytes <= SMALL_PIECE_BYTES) return SMALL_PIECE_BYTES;
    return this.#large < MOST_LARGE || before?.length === PIECE_BYTES ? PIECE_BYTES : SMALL_PIECE_BYTES;
  }

  /** Takes a buffer back; nobody uses it any more. */
  give(buffer: Buffer): void {
    this.lose(buffer);
    const free = this.#free.get(buffer.length) ?? [];
    this.#free.set(buffer.length, free);
    if (free.length < KEPT) free.push(buffer);
  }

  /** Counts a buffer no longer, which a connection may still have to send. */
  lose(buffer: Buffer): void {
    if (buffer.length === PIECE_BYTES) this.#large--;
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
 * Sends files: small ones at once, large ones in pieces at the pace of the client. Pieces are read in Node's thread
 * pool, so that a slow disk delays no other request of the worker.
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
    let buffer: Buffer | undefined;
    try {
      for (const part of partsOf(body)) {
        if (typeof part === 'string') {
          if (!stream.write(part)) await stream.drained();
          continue;
        }
        for (let at = part.from; at < part.to;) {
          const bytes = roomFor(x, Math.min(part.to - at, PIECE_BYTES));
          buffer = this.#buffers.next(bytes, buffer);
          const piece = await readPiece(file, buffer.subarray(0, bytes), at);
          if (x.aborted) return;
          at += piece.length;
          if (!stream.write(piece)) await stream.drained();
          else if (!stream.freesBytes) {
            this.#buffers.lose(buffer);
            buffer = undefined;
          }
        }
      }
      stream.end();
    } catch (error) {
      this.#cut(x, path, error as NodeJS.ErrnoException);
    } finally {
      if (buffer) this.#buffers.give(buffer);
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

/** A range of the file. */
type Range = Pick<FileBody['parts'][number], 'from' | 'to'>;

function* partsOf({ parts, tail }: FileBody): Generator<string | Range, void> {
  for (const { head, from, to } of parts) {
    if (head !== '') yield head;
    yield { from, to };
  }
  if (tail !== '') yield tail;
}

async function readPiece(file: SentFile, bytes: Buffer, at: number): Promise<Buffer> {
  checkLength(await file.readLater(bytes, at), bytes.length);
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
