import { MarkupKind } from 'vscode-languageserver/node';
import type { Hover } from 'vscode-languageserver/node';
import type { Span } from '../../grammar/index.ts';
import { placesAt } from './around.ts';
import { builtInNamed } from './built-in.ts';
import { cursorAt } from './cursor.ts';
import { definitionMarkdown, directiveMarkdown, includeMarkdown, variableMarkdown } from './markdown.ts';
import { definitionsOf } from './name-index.ts';
import { rangeOf } from './places.ts';
import type { At, Session } from './session.ts';
import { entryOf } from './walk.ts';

/** What is known of the word at a place: a name's definition, a variable, a directive. */
export function hover(at: At, session: Session): Hover | null {
  const shown = nameAt(at, session) ?? variableAt(at, session) ?? directiveAt(at, session);
  if (!shown) return null;
  return { contents: { kind: MarkupKind.Markdown, value: shown.text }, range: rangeOf(shown.span) };
}

interface Shown {
  readonly text: string;
  readonly span: Span;
}

function nameAt({ file, offset }: At, { names }: Session): Shown | undefined {
  const found = names.at(file, offset);
  const [first] = found;
  const definitions = definitionsOf(names.same(file, found));
  if (!first || definitions.length === 0) return undefined;
  return { text: definitions.map(definitionMarkdown).join('\n\n---\n\n'), span: first.span };
}

function variableAt({ file, offset }: At, { variables }: Session): Shown | undefined {
  const { source } = file;
  const line = source.text.lastIndexOf('\n', offset - 1) + 1;
  const lineEnd = source.text.indexOf('\n', offset);
  const text = source.text.slice(line, lineEnd < 0 ? undefined : lineEnd);
  for (const match of text.matchAll(/\$\{?(\w+)\}?/g)) {
    const start = line + match.index;
    const end = start + match[0].length;
    if (offset < start || offset > end) continue;
    const facts = builtInNamed(match[1] ?? '', variables);
    if (facts) return { text: variableMarkdown(facts), span: { source, start, end } };
  }
  return undefined;
}

function directiveAt(at: At, { workspace }: Session): Shown | undefined {
  const { table } = workspace;
  const { file } = at;
  // One further: a cursor in front of a word is at that word.
  const cursor = cursorAt({ file, offset: at.offset + 1 }, (name) => table.named(name).length > 0);
  if (!cursor || cursor.words.length > 0 || cursor.start === cursor.end) return undefined;
  const name = file.source.text.slice(cursor.start, cursor.end);
  const span = { source: file.source, start: cursor.start, end: cursor.end };
  if (name === 'include') return { text: includeMarkdown(), span };
  const places = placesAt(cursor, workspace);
  const entries = new Set(places.flatMap((place) => entryOf(name, place, table) ?? []));
  if (entries.size === 0) return undefined;
  return { text: [...entries].map((entry) => directiveMarkdown(entry, table)).join('\n\n---\n\n'), span };
}
