/** What `gw check --live` hands to modules that ask what a location is configured with. */
export interface LiveScope {
  /** The longest that anybody waits for a connection, and again for an answer. */
  readonly timeoutMs: number;
  /** What several locations ask of one target is asked once. */
  once<T>(key: string, ask: () => Promise<T>): Promise<T>;
  /** The servers of an `upstream` block as written. `undefined` when there is no such block. */
  upstream(name: string): readonly string[] | undefined;
}

/** What is wrong with what a location is configured with. */
export interface LiveProblem<C> {
  /** Slug of a rule of `gw check`. */
  readonly rule: string;
  /** The directive to blame. */
  readonly field: keyof C & string;
  /** One line, lower case, no full stop, no secrets. */
  readonly message: string;
  readonly hint?: string;
}
