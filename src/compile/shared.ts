/** A place in a `ByOrigins`. */
interface Slot<T> {
  next?: Map<object, Slot<T>>;
  value?: T;
}

/** Values by the objects that they were made from, in order; what most values have in common comes first. */
export class ByOrigins<T> {
  readonly #root: Slot<T> = {};

  /** Returns the place of the value that was or will be made from these objects. */
  slot(origins: readonly object[]): Slot<T> {
    let slot = this.#root;
    for (const origin of origins) {
      slot.next ??= new Map();
      const next: Slot<T> = slot.next.get(origin) ?? {};
      slot.next.set(origin, next);
      slot = next;
    }
    return slot;
  }
}
