/** `dbrest_max_rows`: the most rows in one response, and of each embed. */
export interface RowLimits {
  readonly usual?: number;
  /** The tables, views and functions that have a limit of their own. */
  readonly named: readonly (readonly [name: string, rows: number])[];
}

/** The most rows of a table, view or function; `undefined` if there is no limit. */
export function rowLimitOf(limits: RowLimits | undefined, name: string): number | undefined {
  return limits?.named.find(([each]) => each === name)?.[1] ?? limits?.usual;
}
