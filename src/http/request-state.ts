/** A key for a value of type `T` that is stored with a request. */
export type StateKey<T> = symbol & { readonly valueType?: (value: T) => T };

/** Creates a unique key; `description` is for debugging. */
export function stateKey<T>(description: string): StateKey<T> {
  return Symbol(description);
}

/** The part of an exchange that stores the state of modules. */
export interface StateHolder {
  state<T>(key: StateKey<T>): T | undefined;
  setState<T>(key: StateKey<T>, value: T): void;
}
