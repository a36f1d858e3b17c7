import type { Report } from './diagnostic.ts';
import type { Source } from './source.ts';
import type { Word } from './tree.ts';

/** One source to parse, and what the parser needs around it. */
export interface ParseInput {
  readonly source: Source;
  readonly report: Report;
  /** Whether any context has a directive of this name; makes the blame for a missing `;` exact. */
  readonly knownDirective: (name: string) => boolean;
  /** Whether any context has a block of this name. */
  readonly opensBlock: (name: string) => boolean;
  /** Replaces `${env:…}` and `${file:…}`. */
  readonly expand: (word: Word) => Word;
  /** True for the text of `-g`, in which nginx allows no blocks. */
  readonly isParameter: boolean;
  /** How many blocks surround the `include` that reads this source. */
  readonly depth: number;
}
