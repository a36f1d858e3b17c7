import type { Fill } from '../store/fill.ts';
import type { Exchange, ResponseStream } from '../../http/index.ts';
import { type BodyTaker, roomFor, type Source } from '../../bodies/index.ts';
import type { Part } from './stored-delivery.ts';

/** A response that is stored while a client gets it or a part of it. */
interface StoringParts {
  readonly fill: Fill;
  readonly source: Source;
  /** Gives up the request, since the response is no longer needed. */
  readonly withdraw: () => void;
  /** `undefined`: the client has already got its response. */
  readonly part: Part | undefined;
  /** Maximum bytes kept in memory for a slow client. */
  readonly readAheadBytes: number;
}

/** A response of known length up to this size is sent in one piece. */
const WHOLE_BYTES = 65_536;
/** Maximum bytes that wait for the disk before the upstream is paused. */
const DISK_BYTES = 1_048_576;
const READ_BACK_BYTES = 65_536;

interface Piece {
  readonly at: number;
  readonly bytes: Buffer;
}

/**
 * Stores a response at the pace of the upstream, while the client takes it at its own. Bytes that a slow client has not
 * taken are read back from the file. If the disk fails, the response continues from memory, at the client's pace.
 */
export class StoringRelay implements BodyTaker {
  readonly #x: Exchange;
  readonly #parts: StoringParts;
  /** The client's part of the body: from `#clientAt` to `#end`. */
  #clientAt = 0;
  #end = Infinity;
  #stream: ResponseStream | undefined = undefined;
  #isCollecting = false;
  #window: Piece[] = [];
  #windowBytes = 0;
  #receivedBytes = 0;
  #isBusy = false;
  #isPaused = false;
  #holdsFile = false;
  #isOver: 'no' | 'whole' | 'cut' = 'no';

  constructor(x: Exchange, parts: StoringParts) {
    this.#x = x;
    this.#parts = parts;
    parts.fill.onProgress = () => this.#advance();
    const { part } = parts;
    const [range] = part?.body.parts ?? [];
    if (!part || !range || x.done) return;
    if (!part.hidesLength) this.#end = range.to;
    this.#clientAt = range.from;
    this.#isCollecting =
      x.request.method !== 'HEAD' && !part.hidesLength && part.body.lengthBytes <= WHOLE_BYTES;
    if (!this.#isCollecting) this.#open(part);
  }

  piece(bytes: Buffer): void {
    const at = this.#receivedBytes;
    this.#receivedBytes += bytes.length;
    this.#parts.fill.add(bytes);
    if (this.#hasClient) this.#queue(at, bytes);
    this.#advance();
  }

  follow(): void {
    if (!this.#isCollecting || this.#parts.readAheadBytes > 0) return;
    this.#stopCollecting();
    this.#advance();
  }

  end(): void {
    this.#isOver = 'whole';
    void this.#parts.fill.finish();
    const { part } = this.#parts;
    if (!this.#isCollecting || !part) return this.#advance();
    const bytes = this.#window.map((piece) => piece.bytes);
    this.#x.send(
      part.status,
      part.body.contentType,
      bytes.length === 1 ? (bytes[0] as Buffer) : Buffer.concat(bytes),
    );
    this.#forgetClient();
  }

  cut(): void {
    this.#isOver = 'cut';
    this.#parts.fill.drop('incomplete');
    if (this.#isCollecting) this.#stopCollecting();
    this.#advance();
  }

  /** The client has gone; the response is stored nevertheless. */
  drop(): void {
    this.#forgetClient();
    this.#advance();
  }

  get #isRange(): boolean {
    return this.#parts.part?.status === 206;
  }

  get #hasClient(): boolean {
    return this.#isCollecting || this.#stream !== undefined;
  }

  #open({ status, body, hidesLength }: Part): void {
    this.#stream = this.#x.stream(status, body.contentType, hidesLength ? -1 : body.lengthBytes);
  }

  #stopCollecting(): void {
    this.#isCollecting = false;
    if (this.#parts.part) this.#open(this.#parts.part);
  }

  /** Queues the bytes of a piece that the client gets. */
  #queue(at: number, bytes: Buffer): void {
    const from = Math.max(this.#clientAt - at, 0);
    const to = Math.min(this.#end - at, bytes.length);
    if (from >= to) return;
    this.#window.push({
      at: at + from,
      bytes: from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to),
    });
    this.#windowBytes += to - from;
  }

  /** Continues with the client and the upstream as far as possible. */
  #advance(): void {
    if (this.#stream && !this.#isBusy) this.#pump(this.#stream);
    this.#leaveToFile();
    if (!this.#hasClient && !this.#parts.fill.isStoring && this.#isOver === 'no') this.#parts.withdraw();
    this.#pace();
  }

  #pump(stream: ResponseStream): void {
    while (!this.#isBusy && this.#clientAt < this.#end) {
      const next = this.#window[0];
      if ((next?.at ?? this.#receivedBytes) > this.#clientAt) return this.#readBack(stream, next?.at);
      if (!next) break;
      // The request is logged with its last byte, and the upstream's variables must be final by then.
      const end = next.at + next.bytes.length;
      if (this.#isOver === 'no' && end === this.#end && !this.#isRange) return;
      this.#window.shift();
      this.#windowBytes -= next.bytes.length;
      this.#write(stream, next.bytes);
    }
    const isTaken = this.#isRange && this.#clientAt >= this.#end;
    if (!this.#isBusy && (isTaken || this.#isOver !== 'no')) this.#finish(stream, isTaken);
  }

  #write(stream: ResponseStream, bytes: Buffer): void {
    this.#clientAt += bytes.length;
    if (!stream.write(bytes)) this.#wait(stream.drained());
  }

  #wait(busy: Promise<void>): void {
    this.#isBusy = true;
    busy
      .catch((error: unknown) => {
        this.#x.writeLog(`the response could not be passed on: ${String(error)}`);
        this.#x.abort();
      })
      .finally(() => {
        this.#isBusy = false;
        this.#advance();
      })
      .catch(() => undefined);
  }

  /** Sends bytes that are only in the file. */
  #readBack(stream: ResponseStream, nextAt = this.#receivedBytes): void {
    const most = Math.min(
      roomFor(this.#x, READ_BACK_BYTES),
      nextAt - this.#clientAt,
      this.#end - this.#clientAt,
    );
    const bytes = Buffer.allocUnsafe(most);
    const reading = this.#parts.fill.read(bytes, this.#clientAt).then(async (length) => {
      if (length < most) throw new Error('a stored part is missing');
      if (this.#stream !== stream) return;
      this.#clientAt += length;
      if (!stream.write(bytes)) await stream.drained();
    });
    this.#wait(reading);
  }

  #finish(stream: ResponseStream, isTaken: boolean): void {
    this.#forgetClient();
    if (isTaken || this.#isOver === 'whole') stream.end();
    else this.#x.abort();
  }

  #forgetClient(): void {
    this.#stream = undefined;
    this.#isCollecting = false;
    this.#window = [];
    this.#windowBytes = 0;
    if (this.#holdsFile) this.#parts.fill.letGo();
    this.#holdsFile = false;
  }

  /** Frees memory: bytes that are in the file need not be kept for a slow client. */
  #leaveToFile(): void {
    const { fill, readAheadBytes } = this.#parts;
    while (this.#windowBytes > readAheadBytes && fill.isStoring) {
      const [oldest] = this.#window;
      if (!oldest || oldest.at + oldest.bytes.length > fill.writtenBytes) return;
      if (!this.#holdsFile) fill.hold();
      this.#holdsFile = true;
      this.#window.shift();
      this.#windowBytes -= oldest.bytes.length;
    }
  }

  #pace(): void {
    const { fill, source, readAheadBytes } = this.#parts;
    if (this.#isOver !== 'no') return;
    const most = this.#isCollecting ? Infinity : readAheadBytes + (fill.isStoring ? DISK_BYTES : 0);
    const isBehind = fill.waitingBytes > DISK_BYTES || (this.#windowBytes > most && this.#isBusy);
    if (isBehind === this.#isPaused) return;
    this.#isPaused = isBehind;
    if (isBehind) source.pause();
    else source.resume();
  }
}
