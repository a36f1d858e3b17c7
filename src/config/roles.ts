import { type Span, spanInWord, type Word } from '../../grammar/index.ts';
import type { AnyRow, NameKind, NameRole, WordRole } from './row.ts';

/** The roles of a directive's words, each with its words. */
export function rolesOf(
  row: AnyRow | undefined,
  args: readonly Word[],
): readonly { readonly role: WordRole; readonly word: Word }[] {
  return (row?.roles ?? []).flatMap((role) => {
    const { word = 0 } = role;
    const words = word === 'any' ? args : args.slice(word === 'last' ? -1 : word).slice(0, 1);
    return words.map((each) => ({ role, word: each }));
  });
}

/** The part of a word that has a role; `undefined` if there is none or if it contains a variable. */
export function namePart(word: Word, { behind = [''], until = '' }: NameRole): Span | undefined {
  const before = behind.find((text) => word.value.startsWith(text));
  if (before === undefined) return undefined;
  const rest = word.value.slice(before.length);
  let end = 0;
  while (end < rest.length && rest[end] !== '$' && !until.includes(rest[end]!)) end++;
  if (rest[end] === '$' || end === 0) return undefined;
  return spanInWord(word, before.length, before.length + end);
}

/** The names in a directive's words that it defines or uses. */
export function namesOf(
  row: AnyRow,
  args: readonly Word[],
  as: NameRole['as'],
): readonly { readonly kind: NameKind; readonly name: string; readonly span: Span }[] {
  return rolesOf(row, args).flatMap(({ role, word }) => {
    const span = role.kind === 'path' || role.as !== as ? undefined : namePart(word, role);
    if (role.kind === 'path' || !span) return [];
    return [{ kind: role.kind, name: span.source.text.slice(span.start, span.end), span }];
  });
}
