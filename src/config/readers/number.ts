import type { ArgReader } from '../row.ts';
import { oneWord } from './words.ts';

/** A whole number within bounds, both included. */
export function integer({ min = 0, max = 2 ** 31 - 1 } = {}): ArgReader<number> {
  return oneWord('number', (word, { directive, report }) => {
    if (!/^\d{1,15}$/.test(word.value)) {
      report.emerg(`"${directive}" directive invalid number`, word.span);
      return undefined;
    }
    const given = Number(word.value);
    if (given < min || given > max) {
      report.emerg(`value must be between ${min} and ${max}`, word.span);
      return undefined;
    }
    return given;
  });
}
