import type { Severity } from '../../grammar/index.ts';

/** A configuration as it was read, secrets masked. */
export interface ConfigText {
  /** The main file first, then those it includes, in the order of reading. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly findings: readonly Finding[];
}

/** What a load has to say about a place. */
export interface Finding {
  readonly severity: Severity;
  readonly message: string;
  readonly hint?: string;
  /** Absent: it is about the configuration as a whole. Lines and columns count from 1. */
  readonly place?: { readonly file: string; readonly line: number; readonly column: number };
}
