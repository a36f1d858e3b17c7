/** Who ends when a callback fails: a request or a connection. */
export interface Failing {
  fail(error: unknown): void;
}

/**
 * A callback for native code, a socket or a timer. What escaped from it would end the thread, and all other requests with it;
 * so it ends the one that it was about.
 */
export function guarded<Args extends unknown[], Result>(
  owner: Failing,
  act: (...args: Args) => Result,
): (...args: Args) => Result | undefined {
  return (...args) => {
    try {
      return act(...args);
    } catch (error) {
      endOf(owner, error);
      return undefined;
    }
  };
}

function endOf(owner: Failing, error: unknown): void {
  try {
    owner.fail(error);
  } catch {
    // Not even its end can be told; the others go on.
  }
}
