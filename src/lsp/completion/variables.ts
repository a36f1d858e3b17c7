import { CompletionItemKind } from 'vscode-languageserver/node';
import type { CompletionItem } from 'vscode-languageserver/node';
import type { Cursor } from '../cursor.ts';
import { definitionMarkdown, variableMarkdown } from '../markdown.ts';
import type { Session } from '../session.ts';
import { itemOf } from './item.ts';
import type { Proposal } from './item.ts';

/** The `$` and the name that stand right before the cursor, in any word. */
const BEFORE = /\$(\{?)\w*$/;

/** Variables behind a `$`: those of this configuration first, then gw's own; `undefined` where no `$` is. */
export function variableItems(
  cursor: Cursor,
  { names, variables }: Session,
): readonly CompletionItem[] | undefined {
  const { file, offset, typed } = cursor;
  const [found, brace = ''] = BEFORE.exec(typed) ?? [];
  if (found === undefined) return undefined;
  const { text } = file.source;
  const rest = /^\w*\}?/.exec(text.slice(offset))?.[0] ?? '';
  // A brace behind the name belongs to the variable only if there is one before it.
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
      // The name of a family goes on.
      ...(facts.name.endsWith('*') && { text: brace === '' ? `$${name}` : `\${${name}` }),
    };
  });
  const unique = new Map([...builtIn, ...own].map((each) => [each.label, each]));
  return [...unique.values()].map((each) => itemOf(each, cursor, range));
}
