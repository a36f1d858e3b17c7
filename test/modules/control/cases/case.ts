/** One call of the control surface, and what it must answer. */
export interface Case {
  readonly it: string;
  readonly path: string;
  /** Called before, each must answer 200. */
  readonly first?: readonly string[];
  /** Default 200. */
  readonly status?: number;
  /** The whole envelope. */
  readonly json?: unknown;
  /** The whole text. */
  readonly body?: string;
}

/** The error envelope. */
export const error = (message: string) => ({ status: 'error', message });

/** The ok envelope. */
export const ok = (fields: Readonly<Record<string, string>>) => ({ status: 'ok', ...fields });
