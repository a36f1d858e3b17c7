import type { Level } from '../request/index.ts';
import type { Schema } from '../schema/index.ts';

/** The table that a request is about, the role that asks, and what the location allows. */
export interface ReadTarget {
  readonly schema: string;
  readonly table: string;
  readonly role: string;
  /** Where computed columns and relationships are looked for; the schema of the table when absent. */
  readonly searchPath?: readonly string[];
  /** Most rows of the answer and of each embed. */
  readonly maxRows?: number | undefined;
  /** `false`: no aggregate functions. */
  readonly aggregates?: boolean;
}

/** What every step of planning looks at. */
export interface Context extends ReadTarget {
  readonly known: Schema;
}

/** What a request says of one level; `path` leads there from the node in hand. */
export type LevelAt = Level & { readonly path: readonly string[] };
