import type { VariableFacts } from '../lookups.ts';
import type { Diagnostics } from './diagnostics.ts';
import type { Files, TextFile } from './files.ts';
import type { NameIndex } from './name-index.ts';
import type { Workspace } from './workspace.ts';

/** What an answer is made from. */
export interface Session {
  readonly files: Files;
  readonly workspace: Workspace;
  readonly names: NameIndex;
  readonly diagnostics: Diagnostics;
  /** Built-in variables by name; families as `arg_*`. */
  readonly variables: ReadonlyMap<string, VariableFacts>;
  /** The client fills in snippets. */
  readonly snippets: boolean;
}

/** A place in a text that is asked about. */
export interface At {
  readonly file: TextFile;
  readonly offset: number;
}
