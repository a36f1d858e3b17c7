/** How long a read is followed on when its last client has left: one that was cut off comes back. */
const LINGER_MS = 10_000;
/** Each of them is read with every change of its table, and one client could leave any number behind. */
const MOST_LINGERING = 64;

/** A followed read. */
interface Ending {
  end(): void;
}

/** The followed reads of a database that have no clients at present, in one worker. */
export class Lingering {
  /** The one that was left first comes first. */
  readonly #timers = new Map<Ending, NodeJS.Timeout>();

  /** Ends a read after a while, or sooner if there are too many. */
  add(read: Ending): void {
    // Changes do not prolong it.
    if (this.#timers.has(read)) return;
    const end = (): void => read.end();
    this.#timers.set(read, setTimeout(end, LINGER_MS).unref());
    const [first] = this.#timers.keys();
    if (this.#timers.size > MOST_LINGERING) first?.end();
  }

  /** The read has a client again, or has ended. */
  remove(read: Ending): void {
    clearTimeout(this.#timers.get(read));
    this.#timers.delete(read);
  }
}
