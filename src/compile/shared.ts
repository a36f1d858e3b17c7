/** The slot of a value in a `ByOrigins`. */
interface Slot<T> {
  next?: Map<object, Slot<T>>;
  value?: T;
}

/** Values by the objects that they were made from. Put objects that many values share first. */
export class ByOrigins<T> {
  readonly #root: Slot<T> = {};

  /** Returns the slot for the value that is made from these objects. */
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
