import type { ErrorLog } from '../../../log/index.ts';
import type { Ring } from '../../../zone/index.ts';
import { publishGap, publishNotification } from './ring-text.ts';

/** Where the notifications of one channel go. */
type Rings = Map<Ring, number>;

/**
 * The channels that the locations of one database listen to, in one worker. The worker whose session listens writes what it hears
 * into the rings, from where all workers read it.
 */
export class Channels {
  readonly #ringsOf = new Map<string, Rings>();
  readonly #log: ErrorLog;
  #changed = (): void => undefined;

  constructor(log: ErrorLog) {
    this.#log = log;
  }

  get names(): readonly string[] {
    return [...this.#ringsOf.keys()];
  }

  /** Sets the function to call when the names have changed. */
  whenChanged(run: () => void): void {
    this.#changed = run;
  }

  /** Lets the notifications of a channel go into a ring. Returns the function that ends it. */
  add(name: string, ring: Ring): () => void {
    const rings: Rings = this.#ringsOf.get(name) ?? new Map<Ring, number>();
    this.#ringsOf.set(name, rings.set(ring, (rings.get(ring) ?? 0) + 1));
    this.#changed();
    return () => {
      const users = (rings.get(ring) ?? 0) - 1;
      if (users > 0) return void rings.set(ring, users);
      rings.delete(ring);
      if (rings.size === 0) this.#ringsOf.delete(name);
      this.#changed();
    };
  }

  /** A notification has arrived. */
  heard(name: string, payload: string): void {
    for (const ring of this.#ringsOf.get(name)?.keys() ?? [])
      if (!publishNotification(ring, name, payload)) this.#logLost(name);
  }

  /** Listening has begun anew: what was sent meanwhile was missed. */
  gap(): void {
    const rings = new Set([...this.#ringsOf.values()].flatMap((each) => [...each.keys()]));
    for (const ring of rings) if (!publishGap(ring)) this.#logLost('*');
  }

  #logLost(name: string): void {
    this.#log.write('error', `dbrest: a notification of channel "${name}" is lost: the ring is busy`);
  }
}
