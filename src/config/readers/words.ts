import type { Word } from '../../../grammar/index.ts';
import type { ComplexValue } from '../complex-value.ts';
import type { ArgReader, ReadScope } from '../row.ts';

/** A reader of exactly one word. */
export function oneWord<T>(
  syntax: string,
  read: (word: Word, scope: ReadScope) => T | undefined,
): ArgReader<T> {
  return { syntax, min: 1, max: 1, read: ([word], scope) => read(word as Word, scope) };
}

/** A reader of several words; `max` may be `Infinity`. */
export function words<T>(
  shape: { readonly syntax: string; readonly min: number; readonly max: number },
  read: (words: readonly Word[], scope: ReadScope) => T | undefined,
): ArgReader<T> {
  return { ...shape, read };
}

/** A directive that takes no argument: its presence is the value. */
export const present: ArgReader<true> = { syntax: '', min: 0, max: 0, read: () => true };

/** The word as it stands. */
export const text: ArgReader<string> = oneWord('string', (word) => word.value);

/** Any number of plain words. */
export const texts: ArgReader<readonly string[]> = words(
  { syntax: 'string ...', min: 1, max: Infinity },
  (list) => list.map((word) => word.value),
);

/** Text with variables. */
export const value: ArgReader<ComplexValue> = oneWord('value', (word, scope) => scope.complexValue(word));
