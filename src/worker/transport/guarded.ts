/** A request or connection; it ends when one of its callbacks fails. */
export interface Failing {
  fail(error: unknown): void;
}

/**
 * A callback for native code, a socket or a timer. An exception that escaped from it would end the thread with all of its
 * requests; instead it ends only the one that the callback belongs to.
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
    // Ending it failed as well. The others go on.
  }
}
