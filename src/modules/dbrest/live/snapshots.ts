/** Most bytes of snapshots that are kept or being sent, for one database and in one worker. */
const MOST_BYTES = 268_435_456;

/** Where a snapshot belongs in a log. */
interface SnapshotPlace {
  /** Position of the first burst after it. */
  readonly from: number;
  /** Bytes that were logged before it. */
  readonly loggedBytes: number;
}

/** Who has use of a snapshot. Its bytes count until nobody has. */
type Holder = object;

/** The rows of a followed read at one moment, as they are sent. */
export class Snapshot implements SnapshotPlace {
  readonly bytes: Buffer;
  readonly from: number;
  readonly loggedBytes: number;
  readonly #holders = new Set<Holder>();
  readonly #count: (bytes: number) => void;

  constructor(bytes: Buffer, { from, loggedBytes }: SnapshotPlace, count: (bytes: number) => void) {
    this.bytes = bytes;
    this.from = from;
    this.loggedBytes = loggedBytes;
    this.#count = count;
  }

  hold(holder: Holder): void {
    if (this.#holders.size === 0) this.#count(this.bytes.length);
    this.#holders.add(holder);
  }

  release(holder: Holder): void {
    if (this.#holders.delete(holder) && this.#holders.size === 0) this.#count(-this.bytes.length);
  }
}

/** The snapshots of all followed reads. Each read keeps its latest for clients that come later, as long as there is room. */
export class Snapshots {
  readonly #mostBytes: number;
  /** By the read that keeps it, the longest kept first. */
  readonly #kept = new Map<Holder, Snapshot>();
  #bytes = 0;

  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Makes a snapshot that its read keeps instead of the one before; `undefined`: clients that read slowly take all the room. */
  add(holder: Holder, text: string, place: SnapshotPlace): Snapshot | undefined {
    this.drop(holder);
    const bytes = Buffer.from(text);
    for (const other of this.#kept.keys()) {
      if (this.#bytes + bytes.length <= this.#mostBytes) break;
      this.drop(other);
    }
    if (this.#bytes + bytes.length > this.#mostBytes) return undefined;
    const snapshot = new Snapshot(bytes, place, (more) => (this.#bytes += more));
    snapshot.hold(holder);
    this.#kept.set(holder, snapshot);
    return snapshot;
  }

  of(holder: Holder): Snapshot | undefined {
    return this.#kept.get(holder);
  }

  /** The read keeps no snapshot any longer. */
  drop(holder: Holder): void {
    this.#kept.get(holder)?.release(holder);
    this.#kept.delete(holder);
  }
}
