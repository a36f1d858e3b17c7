const [startSeconds, startNanoseconds] = process.hrtime();
const OFFSET_MS = startSeconds * 1000 + startNanoseconds / 1e6 - performance.now();

/** Returns the time of a monotonic clock that is the same in all threads of the process, in ms. */
export function monotonicMs(): number {
  return OFFSET_MS + performance.now();
}
