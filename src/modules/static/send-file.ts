import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Exchange, logContext, type ResponseStream } from '../../http/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import { systemFailure } from '../../system/index.ts';
import { type OpenFile, SMALL_FILE_BYTES } from './files.ts';
import type { FileBody } from './ranges.ts';

/** Bytes of a file that are read at a time. */
const PIECE_BYTES = 65_536;

/** Buffers that are kept for later files; further ones are garbage collected. */
const KEPT = 32;

/** Buffers for pieces of files. They are reused because allocating one takes longer than reading into it. */
export class PieceBuffers {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES);
  }

  /** Returns a buffer, which the caller must no longer use. */
  give(buffer: Buffer): void {
    if (this.#free.length < KEPT) this.#free.push(buffer);
  }
}

/** Bytes that one fast client gets before other requests have their turn. */
const BYTES_PER_TURN = 524_288;

/** The response for a file; `path` is for the error log. */
export interface Sending {
  readonly status: number;
  readonly body: FileBody;
  readonly path: string;
}

/**
 * Sends files: small ones at once, large ones in pieces at the pace of the client. Reading is synchronous: a piece in the page
 * cache takes 3 microseconds, through the thread pool 10 to 20 (nginx does the same with `aio off`).
 */
export class FileSender {
  readonly #buffers: PieceBuffers;
  readonly #log: ErrorLog;

  constructor(buffers: PieceBuffers, log: ErrorLog) {
    this.#buffers = buffers;
    this.#log = log;
  }

  /** Sends the file and releases it, also if that fails. */
  send(x: Exchange, file: OpenFile, sending: Sending): void | Promise<void> {
    const { status, body } = sending;
    let stream: ResponseStream | undefined;
    try {
      if (x.request.method !== 'HEAD' && body.lengthBytes <= SMALL_FILE_BYTES)
        return x.send(status, body.contentType, assemble(file, body));
      stream = x.stream(status, body.contentType, body.lengthBytes);
    } finally {
      if (!stream) file.release();
    }
    return stream && this.#pump(stream, file, { ...sending, x });
  }

  async #pump(
    stream: ResponseStream,
    file: OpenFile,
    { x, body, path }: Sending & { x: Exchange },
  ): Promise<void> {
    const buffer = this.#buffers.take();
    let turnBytes = 0;
    try {
      for (const piece of piecesOf(body)) {
        if (x.aborted) return;
        const bytes = typeof piece === 'string' ? piece : readPiece(file, buffer, piece);
        if (!stream.write(bytes)) {
          await stream.drained();
          turnBytes = 0;
        } else if ((turnBytes += bytes.length) >= BYTES_PER_TURN) {
          await nextTurn();
          turnBytes = 0;
        }
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

function* piecesOf({ parts, tail }: FileBody): Generator<string | Piece, void> {
  for (const { head, from, to } of parts) {
    if (head !== '') yield head;
    for (let at = from; at < to; at += PIECE_BYTES) yield { at, lengthBytes: Math.min(PIECE_BYTES, to - at) };
  }
  if (tail !== '') yield tail;
}

function readPiece(file: OpenFile, buffer: Buffer, { at, lengthBytes }: Piece): Buffer {
  const bytes = buffer.subarray(0, lengthBytes);
  const readBytes = file.read(bytes, at);
  if (readBytes < lengthBytes) throw new Truncated(readBytes, lengthBytes);
  return bytes;
}

/** Builds the whole body of a small response. */
function assemble(file: OpenFile, body: FileBody): Uint8Array {
  if (body.parts.length === 1 && body.lengthBytes === file.sizeBytes) return file.content();
  const bytes = Buffer.allocUnsafe(body.lengthBytes);
  let filled = 0;
  for (const { head, from, to } of body.parts) {
    filled += bytes.write(head, filled, 'latin1');
    const lengthBytes = to - from;
    readPiece(file, bytes.subarray(filled), { at: from, lengthBytes });
    filled += lengthBytes;
  }
  bytes.write(body.tail, filled, 'latin1');
  return bytes;
}
