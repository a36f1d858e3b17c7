import { readdirSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { resolve } from 'node:path';
import { CompletionItemKind } from 'vscode-languageserver/node';
import type { CompletionItem } from 'vscode-languageserver/node';
import type { Entry, NameRole, PathRole } from '../../config/index.ts';
import { placesAt, serverAt } from '../around.ts';
import type { Cursor } from '../cursor.ts';
import { definitionMarkdown, INCLUDE } from '../markdown.ts';
import type { Session } from '../session.ts';
import { entryOf } from '../walk.ts';
import { itemOf } from './item.ts';
import { wordsOf } from './syntax-words.ts';

/** What may stand as a word of the directive at the cursor: names, paths, and words of its syntax. */
export function valueItems(cursor: Cursor, session: Session): readonly CompletionItem[] {
  const { words } = cursor;
  const { workspace } = session;
  const name = words[0]?.value ?? '';
  const index = words.length - 1;
  if (name === INCLUDE.name) return index === 0 ? pathItems(cursor, session, 'confDir') : [];
  const places = placesAt(cursor, workspace);
  const entries = new Set(places.flatMap((place) => entryOf(name, place, workspace.table) ?? []));
  const items = [...entries].flatMap((entry) => [
    ...roleItems(entry, index, { cursor, session }),
    ...wordItems(entry, index, cursor),
  ]);
  return [...new Map(items.map((item) => [item.label, item])).values()];
}

interface Asked {
  readonly cursor: Cursor;
  readonly session: Session;
}

function roleItems({ row }: Entry, index: number, { cursor, session }: Asked): readonly CompletionItem[] {
  return (row.roles ?? []).flatMap((role) => {
    const { word = 0 } = role;
    if (word !== 'any' && word !== 'last' && word !== index) return [];
    if (role.kind === 'path') return pathItems(cursor, session, role.from);
    return role.as === 'definition' ? [] : nameItems(role, { cursor, session });
  });
}

/** Names of the kind that the word refers to, behind what it begins with. */
function nameItems({ kind, behind = [''] }: NameRole, { cursor, session }: Asked): readonly CompletionItem[] {
  const { file, offset, start, typed } = cursor;
  const quote = /^["']?/.exec(typed)?.[0] ?? '';
  const written = typed.slice(quote.length);
  const before = behind.find((text) => text !== '' && written.startsWith(text)) ?? '';
  const first = behind[0] ?? '';
  const from = start + quote.length;
  const taken = /^[\w.@-]*/.exec(file.source.text.slice(offset))?.[0].length ?? 0;
  const range = [from, offset + taken] as const;
  const rest = written.slice(before.length);
  // Behind the name something else has begun: a port, a path.
  if (before !== '' && /[/:?]/.test(rest)) return [];
  const scope = kind === 'named location' ? serverAt(cursor, session.workspace) : undefined;
  return session.names.defined(file, kind, scope).map((one) => {
    const { start: at, end: to } = one.span;
    const label = (before === '' ? first : before) + one.file.source.text.slice(at, to);
    return itemOf(
      {
        label,
        kind: CompletionItemKind.Reference,
        detail: kind,
        documentation: definitionMarkdown(one),
        rank: 0,
      },
      cursor,
      range,
    );
  });
}

/** Words of the syntax; a choice has them for its only word. */
function wordItems({ row }: Entry, index: number, cursor: Cursor): readonly CompletionItem[] {
  if ('data' in row || index >= row.args.max) return [];
  const words = row.args.choices ?? wordsOf(row.args.syntax);
  return words.map((label) =>
    itemOf({ label, kind: CompletionItemKind.EnumMember }, cursor, [cursor.start, cursor.end]),
  );
}

/** The files of the directory that is typed so far. */
function pathItems(
  cursor: Cursor,
  { workspace }: Session,
  from: PathRole['from'],
): readonly CompletionItem[] {
  const { file, offset, typed } = cursor;
  const written = typed.replace(/^["']/, '');
  if (/[$*?[]/.test(written)) return [];
  const slash = written.lastIndexOf('/') + 1;
  const typedName = written.slice(slash);
  const items = workspace.rootsOf(file).flatMap((root) => {
    const base = from === 'confDir' ? root.confDir : workspace.prefixOf(root);
    return entriesOf(resolve(base, written.slice(0, slash) || '.'))
      .filter(({ name }) => !name.startsWith('.') || typedName.startsWith('.'))
      .map((entry) => {
        const label = entry.isDirectory() ? `${entry.name}/` : entry.name;
        const kind = entry.isDirectory() ? CompletionItemKind.Folder : CompletionItemKind.File;
        return itemOf({ label, kind, rank: 0 }, cursor, [offset - typedName.length, offset]);
      });
  });
  return [...new Map(items.map((item) => [item.label, item])).values()];
}

function entriesOf(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}
