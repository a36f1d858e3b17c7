/** A request or connection that ends when one of its callbacks fails. */
export interface Failing {
  fail(error: unknown): void;
}

/**
 * Wraps a callback of native code, a socket or a timer. An exception that escaped would end the thread with all its
 * requests; instead it ends only the owner of the callback.
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
    // Other requests are not affected.
  }
}
