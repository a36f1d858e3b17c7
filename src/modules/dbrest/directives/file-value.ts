import type { Word } from '../../../../grammar/index.ts';
import type { ReadScope } from '../../../config/index.ts';

/**
 * Refuses `@file`, for which PostgREST reads a file: here it would be taken for the value itself, and the name of a file is no
 * secret. `${file:…}` does what is meant. Returns whether it was refused.
 */
export function namesFile({ value, secret, span }: Word, { directive, report }: ReadScope): boolean {
  if (!value.startsWith('@')) return false;
  const path = secret ? 'path' : value.slice(1);
  report.emerg(
    `"${directive}" takes no "@file"`,
    span,
    `write \${file:${path}} to read the value from a file`,
  );
  return true;
}
