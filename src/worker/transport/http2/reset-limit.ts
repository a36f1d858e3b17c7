/** Clients of gRPC cancel calls that have begun as a matter of course. */
const WEIGHTS = { unanswered: 1, begun: 0.5 };

/**
 * nghttp2 closes a connection with more than 33 resets a second after the first 1,000, also of responses that have begun,
 * and Node.js tells nobody. From 22.10 on it has options that take this limit away.
 */
const HAS_OPTIONS = isAtLeast([22, 10], process.versions.node);
export const RESET_OPTIONS = HAS_OPTIONS ? { streamResetBurst: 1e9, streamResetRate: 1e9 } : {};
/** Less than that of nghttp2, so that gw closes the connection, and its log has the reason. */
const BELOW_NGHTTP2 = { most: 900, perSecond: 30 };

function isAtLeast([major, minor]: readonly [number, number], version: string): boolean {
  const [itsMajor = 0, itsMinor = 0] = version.split('.').map(Number);
  return itsMajor > major || (itsMajor === major && itsMinor >= minor);
}

/**
 * Limits how often a client resets its requests. Each reset makes room for another request, while gw may still be busy with
 * the one before (CVE-2023-44487).
 */
export class ResetLimit {
  readonly #own: Bucket;
  readonly #engine = HAS_OPTIONS ? undefined : new Bucket(BELOW_NGHTTP2);

  /** Allows twice the streams of a connection at once, and its number of streams in each further second. */
  constructor(maxStreams: number) {
    this.#own = new Bucket({ most: 2 * maxStreams, perSecond: maxStreams });
  }

  /** Counts a reset. False: it exceeds the limit. */
  admits(reset: keyof typeof WEIGHTS): boolean {
    const nowMs = Date.now();
    const isWithinEngine = this.#engine?.take(1, nowMs) ?? true;
    return this.#own.take(WEIGHTS[reset], nowMs) && isWithinEngine;
  }
}

/** An amount that fills up with time, to `most`. */
class Bucket {
  readonly #most: number;
  readonly #perSecond: number;
  #left: number;
  #lastMs = Date.now();

  constructor({ most, perSecond }: { readonly most: number; readonly perSecond: number }) {
    this.#most = this.#left = most;
    this.#perSecond = perSecond;
  }

  /** Takes an amount. False: there was not enough. */
  take(amount: number, nowMs: number): boolean {
    const added = ((nowMs - this.#lastMs) / 1000) * this.#perSecond;
    this.#left = Math.min(this.#most, this.#left + added) - amount;
    this.#lastMs = nowMs;
    return this.#left >= 0;
  }
}
