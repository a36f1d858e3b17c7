import type { Word } from '../../../grammar/index.ts';
import type { ReadScope } from '../row.ts';

/** The name in `$name`, in lower case, of a variable that the directive defines; what is no name is reported. */
export function readVariableName(word: Word, scope: ReadScope, how?: 'assigned'): string | undefined {
  const name = /^\$(\w+)$/.exec(word.value)?.[1]?.toLowerCase();
  if (name === undefined) scope.report.emerg(`invalid variable name "${word.value}"`, word.span);
  else scope.defineVariable(name, word.span, how);
  return name;
}
