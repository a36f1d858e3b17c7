/** The times of a request, in milliseconds of the monotonic clock. */
interface TimedRequest {
  readonly beganAt: number;
  /** 0: the response is not a stream, or has no head yet. */
  headAt: number;
}

/** To be called when the head of a stream of events or an upgrade is decided: its body says nothing about latency. */
export function headSent(x: TimedRequest): void {
  x.headAt = performance.now();
}

/** Returns the milliseconds since a request began, with their fractions. They never decrease. */
export function elapsedMs({ beganAt }: TimedRequest): number {
  return performance.now() - beganAt;
}

/** Returns how long a client waited, in milliseconds: until the head of a stream of events or an upgrade, else until now. */
export function latencyMs(x: TimedRequest): number {
  return x.headAt === 0 ? elapsedMs(x) : x.headAt - x.beganAt;
}
