import { COMMENT, type Heartbeat } from '../../../event-streams/index.ts';
import type { Exchange, ResponseStream } from '../../../http/index.ts';
import type { EventLog } from './event-log.ts';
import type { Snapshot } from './snapshots.ts';

/** Snapshots and bursts are sent in pieces of this size, at the client's pace. */
const PIECE_BYTES = 65_536;

const NOTHING = Buffer.alloc(0);

/** What a stream sends. */
export interface LiveSource {
  readonly log: EventLog;
  /** Position in the log of the first burst to send. */
  readonly from: number;
  /** Sent before it; shared by all clients that begin with it. */
  readonly snapshot: Snapshot | undefined;
}

/** One client that follows a read. A client that has not read what the log no longer keeps is cut off, and may come back. */
export class LiveStream {
  readonly #x: Exchange;
  readonly #out: ResponseStream;
  readonly #log: EventLog;
  readonly #unbeat: () => void;
  /** Of which a part has been sent. */
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
    // Behind a part of an event, it would be taken for more of that.
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
