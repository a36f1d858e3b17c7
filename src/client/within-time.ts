/** A request that was not done in time. Its message says so, with the time. */
export class LateFault extends Error {}

/** How long a request may take, and the signal that ends it earlier. */
interface TimeLimit {
  readonly timeoutMs: number;
  readonly ending?: AbortSignal;
}

/**
 * Runs a request with a signal that aborts when its time is over, or when `ending` does. Rejects with a `LateFault` when
 * the time is over, else as the request does.
 */
export async function withinTime<T>(
  { timeoutMs, ending }: TimeLimit,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // A signal of `AbortSignal.any` may be collected before it fires (Node.js 20).
  const asking = new AbortController();
  const stop = (): void => asking.abort();
  const timer = setTimeout(stop, timeoutMs);
  ending?.addEventListener('abort', stop);
  try {
    if (ending?.aborted) stop();
    return await ask(asking.signal);
  } catch (error) {
    if (!asking.signal.aborted || ending?.aborted) throw error;
    throw new LateFault(`no response within ${timeoutMs / 1_000} s`, { cause: error });
  } finally {
    clearTimeout(timer);
    ending?.removeEventListener('abort', stop);
  }
}
