import { CompletionItemKind } from 'vscode-languageserver/node';
import type { CompletionItem } from 'vscode-languageserver/node';
import { syntaxOf } from '../../config/index.ts';
import type { AnyRow, Entry, Registry } from '../../config/index.ts';
import { placesAt } from '../around.ts';
import type { Cursor } from '../cursor.ts';
import { directiveMarkdown, INCLUDE, includeMarkdown } from '../markdown.ts';
import type { Session } from '../session.ts';
import { entryOf } from '../walk.ts';
import type { Place } from '../walk.ts';
import { itemOf } from './item.ts';
import type { Proposal } from './item.ts';

/** The directives that are allowed at the cursor, with what belongs to them. */
export function directiveItems(cursor: Cursor, { workspace, snippets }: Session): readonly CompletionItem[] {
  const { end, file, offset, start } = cursor;
  const { table } = workspace;
  const restOfLine = /^[^\n]*/.exec(file.source.text.slice(Math.max(end, offset)))?.[0] ?? '';
  const isWhole = snippets && /^[}\s]*$/.test(restOfLine);
  const proposals = placesAt(cursor, workspace).flatMap((place) =>
    legalAt(place, table).map((entry) => proposalFor(entry, { place, isWhole })),
  );
  const unique = new Map([includeProposal(isWhole), ...proposals].map((each) => [each.label, each]));
  return [...unique.values()].map((each) => itemOf(each, cursor, [start, end]));
}

/** The documentation of a proposal, once somebody looks at it. */
export function documentationOf(data: unknown, table: Registry): string | undefined {
  const { directive, place } = data as { directive?: string; place?: Place };
  if (directive === INCLUDE.name) return includeMarkdown();
  const entry = directive !== undefined && place !== undefined && entryOf(directive, place, table);
  return entry ? directiveMarkdown(entry, table) : undefined;
}

function legalAt(place: Place, table: Registry): readonly Entry[] {
  if (place === 'data' || place === 'unknown') return [];
  return table.entries.filter(({ row }) => row.contexts.includes(place));
}

function proposalFor({ name, row }: Entry, { place, isWhole }: { place: Place; isWhole: boolean }): Proposal {
  return {
    label: name,
    kind: 'opens' in row || 'data' in row ? CompletionItemKind.Module : CompletionItemKind.Property,
    detail: syntaxOf(name, row),
    // What has no effect comes last.
    rank: 'accepted' in row ? 2 : 1,
    data: { directive: name, place },
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

/** The directive with places to fill in: its words, and the inside of its block. */
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
