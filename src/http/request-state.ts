/** Names a value of type `T` that is kept with a request. */
export type StateKey<T> = symbol & { readonly valueType?: (value: T) => T };

/** A key of its own; `description` is for whoever debugs. */
export function stateKey<T>(description: string): StateKey<T> {
  return Symbol(description);
}

/** A request, as far as it keeps what modules remember of it. */
export interface StateHolder {
  state<T>(key: StateKey<T>): T | undefined;
  setState<T>(key: StateKey<T>, value: T): void;
}
