const [startSeconds, startNanoseconds] = process.hrtime();
const OFFSET_SECONDS = startSeconds + startNanoseconds / 1e9 - performance.now() / 1000;

/** A second that all threads of the process agree on, and that no change of the clock moves. */
export function monotonicSecond(): number {
  return Math.floor(OFFSET_SECONDS + performance.now() / 1000);
}
