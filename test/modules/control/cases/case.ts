/** One call of the control API, and its expected response. */
export interface Case {
  readonly it: string;
  readonly path: string;
  /** Paths that are requested before; each gets 200. */
  readonly first?: readonly string[];
  /** 200 by default. */
  readonly status?: number;
  /** The whole JSON body. */
  readonly json?: unknown;
  /** The whole text body. */
  readonly body?: string;
}

/** The JSON body of an error. */
export const error = (message: string) => ({ status: 'error', message });

/** The JSON body of a success. */
export const ok = (fields: Readonly<Record<string, string>>) => ({ status: 'ok', ...fields });
