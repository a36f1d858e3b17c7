import type { Word } from '../../../grammar/index.ts';
import type { Boundary } from './intervals.ts';

/** The entries of a `geo` block: networks, or with `ranges` ranges. What is wrong they report. */
export interface Entries {
  setDefault(name: Word, value: Word): void;
  set(name: Word, value: Word): void;
  delete(name: Word): void;
  boundaries(): { readonly v4: readonly Boundary[]; readonly v6: readonly Boundary[] };
}
