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
