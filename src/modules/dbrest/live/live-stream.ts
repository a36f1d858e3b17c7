import { COMMENT, type Heartbeat } from '../../../event-streams.ts';
import type { Exchange, ResponseStream } from '../../../http/index.ts';
import type { Snapshot } from './change-feed.ts';

/** The events of one burst, as they are sent. */
interface Burst {
  /** The latest announcement that it takes into account. */
  readonly generation: number;
  readonly bytes: Buffer;
}

/**
 * The latest events of a followed read. Streams keep a position in it and no events, so that a client that reads slowly
 * takes no memory.
 */
export class EventLog {
  readonly #mostBytes: number;
  #bursts: Burst[] = [];
  /** The position of the first burst that is still kept. */
  #first = 0;
  #bytes = 0;
  /** Announcements up to this one were taken into account before the first burst that is kept. */
  #coveredFrom: number;

  constructor(mostBytes: number, generation: number) {
    this.#mostBytes = mostBytes;
    this.#coveredFrom = generation;
  }

  /** The position behind the latest burst. */
  get end(): number {
    return this.#first + this.#bursts.length;
  }

  add(text: string, generation: number): void {
    const bytes = Buffer.from(text);
    this.#bursts.push({ generation, bytes });
    this.#bytes += bytes.length;
    let dropped = 0;
    // The latest burst stays, however long it is.
    while (this.#bytes > this.#mostBytes && dropped < this.#bursts.length - 1) {
      const burst = this.#bursts[dropped] as Burst;
      this.#bytes -= burst.bytes.length;
      this.#coveredFrom = burst.generation;
      dropped += 1;
    }
    if (dropped > 0) this.#bursts.splice(0, dropped);
    this.#first += dropped;
  }

  /** The burst at a position; `undefined` before it is added, 'dropped' if it is no longer kept. */
  at(position: number): Buffer | 'dropped' | undefined {
    if (position < this.#first) return 'dropped';
    return this.#bursts[position - this.#first]?.bytes;
  }

  /**
   * The position at which a client continues that has everything up to a generation; `undefined` if it has missed a
   * burst that is no longer kept. The burst of that generation may come again: events can be repeated without harm.
   */
  positionAfter(generation: number): number | undefined {
    if (generation < this.#coveredFrom) return undefined;
    const index = this.#bursts.findIndex((burst) => burst.generation >= generation);
    return index < 0 ? this.end : this.#first + index;
  }
}

/** Snapshots and bursts are sent in pieces of this size, at the client's pace. */
const PIECE_BYTES = 65_536;

const NOTHING = Buffer.alloc(0);

/** The source of a stream. */
export interface LiveSource {
  readonly log: EventLog;
  /** Position in the log of the first burst to send. */
  readonly from: number;
  /** Sent before it; shared by all clients that begin with it. */
  readonly snapshot: Snapshot | undefined;
}

/** One client that follows a read. It is cut off if the log drops a burst that it has not read, and may come back. */
export class LiveStream {
  readonly #x: Exchange;
  readonly #out: ResponseStream;
  readonly #log: EventLog;
  readonly #unbeat: () => void;
  /** The snapshot of which a part has been sent. */
  #snapshot: Snapshot | undefined;
  /** The rest of the snapshot or burst that is being sent. */
  #rest: Buffer = NOTHING;
  #position: number;
  #blocked = false;
  #ended = false;

  constructor(
    x: Exchange,
    out: ResponseStream,
    { source, heartbeat }: { source: LiveSource; heartbeat: Heartbeat },
  ) {
    this.#x = x;
    this.#out = out;
    this.#log = source.log;
    this.#snapshot = source.snapshot;
    source.snapshot?.hold(this);
    if (source.snapshot) this.#rest = source.snapshot.bytes;
    this.#position = source.from;
    this.#unbeat = heartbeat.add(this);
    // The head of the response is sent with the first byte of its body.
    this.#write(COMMENT);
    this.wake();
  }

  /** Sends what is new. */
  wake(): void {
    while (!this.#ended && !this.#blocked) {
      const piece = this.#nextPiece();
      if (piece === undefined) return;
      if (piece === 'dropped') {
        this.#x.abort();
        return this.close();
      }
      this.#write(piece);
    }
    if (this.#blocked && this.#log.at(this.#position) === 'dropped' && !this.#snapshot) {
      this.#x.abort();
      this.close();
    }
  }

  beat(): void {
    if (!this.#ended && !this.#blocked) this.#write(COMMENT);
  }

  /** Ends the response, after a last event if there is one; may also be called after the client has left. */
  close(last = ''): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unbeat();
    // Behind a part of an event, the client would take it for the rest of that event.
    const isBetween = this.#rest.length === 0;
    this.#releaseSnapshot();
    if (last !== '' && isBetween) this.#out.write(last);
    this.#out.end();
  }

  #nextPiece(): Buffer | 'dropped' | undefined {
    if (this.#rest.length === 0) {
      const burst = this.#log.at(this.#position);
      if (!(burst instanceof Buffer)) return burst;
      this.#position += 1;
      this.#rest = burst;
    }
    const piece = this.#rest.subarray(0, PIECE_BYTES);
    this.#rest = this.#rest.subarray(piece.length);
    if (this.#rest.length === 0) this.#releaseSnapshot();
    return piece;
  }

  #releaseSnapshot(): void {
    this.#snapshot?.release(this);
    this.#snapshot = undefined;
    this.#rest = NOTHING;
  }

  #write(piece: string | Buffer): void {
    if (this.#out.write(piece)) return;
    this.#blocked = true;
    void this.#out.drained().then(() => {
      this.#blocked = false;
      this.wake();
    });
  }
}
