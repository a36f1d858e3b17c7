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

/** Who wants to know that the client went away. */
export class AbortListeners {
  private listeners: (() => void)[] | undefined = undefined;

  add(listener: () => void): void {
    (this.listeners ??= []).push(listener);
  }

  /** Tells all of them; what one throws goes to `fail`, and the others still hear. */
  tell(fail: (error: unknown) => void): void {
    for (const listener of this.listeners ?? []) {
      try {
        listener();
      } catch (error) {
        fail(error);
      }
    }
  }
}
