import { type Dirent, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type CompletionItem,
  CompletionItemKind,
  InsertTextFormat,
  MarkupKind,
} from 'vscode-languageserver/node';
import {
  type AnyRow,
  type DirectiveEntry,
  INCLUDE,
  type NameRole,
  type PathRole,
  type Registry,
  syntaxOf,
} from '../../config/index.ts';
import { rangeOf } from './files.ts';
import { definitionMarkdown, directiveMarkdown, includeMarkdown, variableMarkdown } from './hover.ts';
import { type TextPosition, type Cursor, cursorAt, blockKindsAt, serverAt, type Session } from './session.ts';
import { wordsOf } from './syntax-words.ts';
import { entryOf, type BlockKind } from './walk.ts';

/** A proposal to replace the text from `start` on. */
interface Proposal {
  readonly label: string;
  readonly kind: CompletionItemKind;
  readonly detail?: string | undefined;
  readonly documentation?: string | undefined;
  /** Default: the label. */
  readonly text?: string;
  /** True if `text` is a snippet. */
  readonly isSnippet?: boolean;
  /** Sort key before the label. */
  readonly rank?: number;
  /** Data with which the client requests the documentation. */
  readonly data?: unknown;
}

/** A proposal in the form of the protocol. `start` and `end` are offsets on the line of the cursor. */
function itemOf(
  { documentation, isSnippet, kind, label, rank = 1, text = label, ...rest }: Proposal,
  { file }: Cursor,
  [start, end]: readonly [start: number, end: number],
): CompletionItem {
  return {
    label,
    kind,
    filterText: label,
    sortText: `${rank} ${label}`,
    textEdit: { range: rangeOf({ source: file.source, start, end }), newText: text },
    ...(isSnippet === true && { insertTextFormat: InsertTextFormat.Snippet }),
    ...(documentation !== undefined && {
      documentation: { kind: MarkupKind.Markdown, value: documentation },
    }),
    ...(rest.detail !== undefined && { detail: rest.detail }),
    ...(rest.data !== undefined && { data: rest.data }),
  };
}

/** Proposals for the directives that are allowed at the cursor. */
function directiveItems(cursor: Cursor, { workspace, snippets }: Session): readonly CompletionItem[] {
  const { end, file, offset, start } = cursor;
  const { table } = workspace;
  const restOfLine = /^[^\n]*/.exec(file.source.text.slice(Math.max(end, offset)))?.[0] ?? '';
  const isWhole = snippets && /^[}\s]*$/.test(restOfLine);
  const proposals = blockKindsAt(cursor, workspace).flatMap((kind) =>
    legalAt(kind, table).map((entry) => proposalFor(entry, { kind, isWhole })),
  );
  const unique = new Map([includeProposal(isWhole), ...proposals].map((each) => [each.label, each]));
  return [...unique.values()].map((each) => itemOf(each, cursor, [start, end]));
}

/** The documentation of a proposal, which clients request for the selected one. */
export function documentationOf(data: unknown, table: Registry): string | undefined {
  const { directive, kind } = data as { directive?: string; kind?: BlockKind };
  if (directive === INCLUDE.name) return includeMarkdown();
  const entry = directive !== undefined && kind !== undefined && entryOf(directive, kind, table);
  return entry ? directiveMarkdown(entry, table) : undefined;
}

function legalAt(kind: BlockKind, table: Registry): readonly DirectiveEntry[] {
  if (kind === 'data' || kind === 'unknown') return [];
  return table.entries.filter(({ row }) => row.contexts.includes(kind));
}

function proposalFor(
  { name, row }: DirectiveEntry,
  { kind, isWhole }: { kind: BlockKind; isWhole: boolean },
): Proposal {
  return {
    label: name,
    kind: 'opens' in row || 'data' in row ? CompletionItemKind.Module : CompletionItemKind.Property,
    detail: syntaxOf(name, row),
    // Directives without effect come last.
    rank: 'accepted' in row ? 2 : 1,
    data: { directive: name, kind },
    ...(isWhole && { text: snippetOf(name, row), isSnippet: true }),
  };
}

function includeProposal(isWhole: boolean): Proposal {
  return {
    label: INCLUDE.name,
    kind: CompletionItemKind.File,
    detail: INCLUDE.syntax,
    data: { directive: INCLUDE.name },
    ...(isWhole && { text: 'include ${1};', isSnippet: true }),
  };
}

/** The snippet of a directive, with placeholders for its words and its block. */
function snippetOf(name: string, row: AnyRow): string {
  const max = 'data' in row ? (row.words?.max ?? 0) : row.args.max;
  const syntax = 'data' in row ? row.syntax : row.args.syntax;
  const words = max === 0 ? '' : syntax.startsWith('(') ? ' (${1})' : ` ${wordsSnippet(row)}`;
  return 'opens' in row || 'data' in row ? `${name}${words} {\n\t$0\n}` : `${name}${words};`;
}

function wordsSnippet(row: AnyRow): string {
  if ('data' in row || row.args.max > 1) return '${1}';
  const { choices = [] } = row.args;
  return choices.length > 1 && choices.length < 8 ? `\${1|${choices.join(',')}|}` : '${1}';
}

/** Proposals for a word of the directive at the cursor: names, paths, and words of its syntax. */
function valueItems(cursor: Cursor, session: Session): readonly CompletionItem[] {
  const { words } = cursor;
  const { workspace } = session;
  const name = words[0]?.value ?? '';
  const index = words.length - 1;
  if (name === INCLUDE.name) return index === 0 ? pathItems(cursor, session, 'confDir') : [];
  const kinds = blockKindsAt(cursor, workspace);
  const entries = new Set(kinds.flatMap((kind) => entryOf(name, kind, workspace.table) ?? []));
  const items = [...entries].flatMap((entry) => [
    ...roleItems(entry, index, { cursor, session }),
    ...wordItems(entry, index, cursor),
  ]);
  return [...new Map(items.map((item) => [item.label, item])).values()];
}

interface ValueRequest {
  readonly cursor: Cursor;
  readonly session: Session;
}

function roleItems(
  { row }: DirectiveEntry,
  index: number,
  { cursor, session }: ValueRequest,
): readonly CompletionItem[] {
  return (row.roles ?? []).flatMap((role) => {
    const { word = 0 } = role;
    if (word !== 'any' && word !== 'last' && word !== index) return [];
    if (role.kind === 'path') return pathItems(cursor, session, role.from);
    return role.as === 'definition' ? [] : nameItems(role, { cursor, session });
  });
}

/** Proposals for names of the kind that the word refers to, after its prefix. */
function nameItems(
  { kind, behind = [''] }: NameRole,
  { cursor, session }: ValueRequest,
): readonly CompletionItem[] {
  const { file, offset, start, typed } = cursor;
  const quote = /^["']?/.exec(typed)?.[0] ?? '';
  const written = typed.slice(quote.length);
  const before = behind.find((text) => text !== '' && written.startsWith(text)) ?? '';
  const first = behind[0] ?? '';
  const from = start + quote.length;
  const taken = /^[\w.@-]*/.exec(file.source.text.slice(offset))?.[0].length ?? 0;
  const range = [from, offset + taken] as const;
  const rest = written.slice(before.length);
  // The name is complete: a port or a path follows.
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

/** Proposals for words of the syntax; the choices of a reader apply to its only word. */
function wordItems({ row }: DirectiveEntry, index: number, cursor: Cursor): readonly CompletionItem[] {
  if ('data' in row || index >= row.args.max) return [];
  const words = row.args.choices ?? wordsOf(row.args.syntax);
  return words.map((label) =>
    itemOf({ label, kind: CompletionItemKind.EnumMember }, cursor, [cursor.start, cursor.end]),
  );
}

/** Proposals for files in the directory that has been typed. */
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

/** A `$` and the beginning of a name before the cursor. */
const BEFORE = /\$(\{?)\w*$/;

/** Proposals for variables after a `$`, the configuration's own first; `undefined` if there is no `$`. */
function variableItems(cursor: Cursor, { names, variables }: Session): readonly CompletionItem[] | undefined {
  const { file, offset, typed } = cursor;
  const [found, brace = ''] = BEFORE.exec(typed) ?? [];
  if (found === undefined) return undefined;
  const { text } = file.source;
  const rest = /^\w*\}?/.exec(text.slice(offset))?.[0] ?? '';
  // A closing brace belongs to the variable only if there is an opening one.
  const taken = brace === '' ? rest.replace('}', '') : rest;
  const range = [offset - found.length, offset + taken.length] as const;
  const written = (name: string): string => (brace === '' ? `$${name}` : `\${${name}}`);
  const own: Proposal[] = names.defined(file, 'variable').map((one) => ({
    label: written(one.name),
    kind: CompletionItemKind.Variable,
    detail: `${one.node.name.value} in ${one.file.path}`,
    documentation: definitionMarkdown(one),
    rank: 0,
  }));
  const builtIn: Proposal[] = [...variables.values()].map((facts) => {
    const name = facts.name.replace(/\*$/, '');
    return {
      label: written(name),
      kind: facts.name.endsWith('*') ? CompletionItemKind.Class : CompletionItemKind.Variable,
      detail: facts.summary,
      documentation: variableMarkdown(facts),
      // The user completes the name of a family.
      ...(facts.name.endsWith('*') && { text: brace === '' ? `$${name}` : `\${${name}` }),
    };
  });
  const unique = new Map([...builtIn, ...own].map((each) => [each.label, each]));
  return [...unique.values()].map((each) => itemOf(each, cursor, range));
}

/** The proposals at a position. The text around it may have faults. */
export function completion(at: TextPosition, session: Session): readonly CompletionItem[] {
  const { table } = session.workspace;
  const cursor = cursorAt(at, (name) => table.named(name).length > 0);
  if (!cursor) return [];
  const variables = variableItems(cursor, session);
  if (variables) return variables;
  return cursor.words.length === 0 ? directiveItems(cursor, session) : valueItems(cursor, session);
}
