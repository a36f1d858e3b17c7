import { InsertTextFormat, MarkupKind } from 'vscode-languageserver/node';
import type { CompletionItem, CompletionItemKind } from 'vscode-languageserver/node';
import type { Cursor } from '../cursor.ts';
import { rangeOf } from '../places.ts';

/** One proposal: what takes the place of the text from `start` on. */
export interface Proposal {
  readonly label: string;
  readonly kind: CompletionItemKind;
  readonly detail?: string | undefined;
  readonly documentation?: string | undefined;
  /** Default: the label. */
  readonly text?: string;
  /** `text` is a snippet. */
  readonly isSnippet?: boolean;
  /** Proposals are sorted by it, then by label. */
  readonly rank?: number;
  /** What the client asks for when it wants the documentation. */
  readonly data?: unknown;
}

/** A proposal as the client takes it. `start` and `end` are offsets on the line of the cursor. */
export function itemOf(
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
