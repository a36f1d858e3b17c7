import type { CompletionItem } from 'vscode-languageserver/node';
import { cursorAt } from '../cursor.ts';
import type { At, Session } from '../session.ts';
import { directiveItems } from './directives.ts';
import { valueItems } from './values.ts';
import { variableItems } from './variables.ts';

export { documentationOf } from './directives.ts';

/** What may be written at a place, whatever is wrong with the text around it. */
export function completion(at: At, session: Session): readonly CompletionItem[] {
  const { table } = session.workspace;
  const cursor = cursorAt(at, (name) => table.named(name).length > 0);
  if (!cursor) return [];
  const variables = variableItems(cursor, session);
  if (variables) return variables;
  return cursor.words.length === 0 ? directiveItems(cursor, session) : valueItems(cursor, session);
}
