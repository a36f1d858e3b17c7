import { type Hover, MarkupKind } from 'vscode-languageserver/node';
import type { Span } from '../../../grammar/index.ts';
import { type DirectiveEntry, factsOf, INCLUDE, type Registry } from '../../config/index.ts';
import type { VariableFacts } from '../lookups.ts';
import { rangeOf } from './files.ts';
import { builtInNamed, definitionsOf, type Occurrence } from './name-index.ts';
import { type TextPosition, cursorAt, blockKindsAt, type Session } from './session.ts';
import { entryOf } from './walk.ts';

/** Maximum number of lines of a definition that are shown. */
const MAX_LINES = 12;

/** The hover text of a directive. */
export function directiveMarkdown(entry: DirectiveEntry, table: Registry): string {
  const { accepted, contexts, default: fallback, module, nginx, summary, syntax } = factsOf(entry, table);
  return paragraphs([
    code(syntax),
    summary,
    accepted !== undefined && `**No effect**: ${accepted}.`,
    fallback !== undefined && `Default: \`${fallback}\``,
    `Context: ${contexts.join(', ')}`,
    nginx === undefined ? `Module: ${module}` : `Module: ${module}. [As in nginx](${nginx})`,
  ]);
}

/** The hover text of `include`. */
export function includeMarkdown(): string {
  return paragraphs([code(INCLUDE.syntax), INCLUDE.summary, 'Context: any']);
}

/** The hover text of a built-in variable. */
export function variableMarkdown({ module, name, settable, summary }: VariableFacts): string {
  return paragraphs([
    code(`$${name.replace('*', 'NAME')}`),
    summary,
    settable && '`set` may change it.',
    `Module: ${module}`,
  ]);
}

/** The hover text of a name of the configuration: the lines that define it. */
export function definitionMarkdown({ file, kind, node }: Occurrence): string {
  const { text } = file.source;
  const start = text.lastIndexOf('\n', node.span.start - 1) + 1;
  const lines = text.slice(start, node.span.end).split('\n');
  const indent = /^[ \t]*/.exec(lines[0] ?? '')?.[0] ?? '';
  const shown = lines
    .slice(0, MAX_LINES)
    .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
  if (lines.length > MAX_LINES) shown.push('…');
  return paragraphs([code(shown.join('\n')), `${kind}, defined in ${file.path}`]);
}

function code(text: string): string {
  // A fence that is longer than any sequence of backticks in a configuration.
  return `\`\`\`\`\`nginx\n${text}\n\`\`\`\`\``;
}

function paragraphs(parts: readonly (string | false)[]): string {
  return parts.filter((part) => part !== false && part !== '').join('\n\n');
}

/** The hover text at a position: a name's definition, a variable, or a directive. */
export function hover(at: TextPosition, session: Session): Hover | null {
  const shown = nameAt(at, session) ?? variableAt(at, session) ?? directiveAt(at, session);
  if (!shown) return null;
  return { contents: { kind: MarkupKind.Markdown, value: shown.text }, range: rangeOf(shown.span) };
}

interface HoverText {
  readonly text: string;
  readonly span: Span;
}

function nameAt({ file, offset }: TextPosition, { names }: Session): HoverText | undefined {
  const found = names.at(file, offset);
  const [first] = found;
  const definitions = definitionsOf(names.same(file, found));
  if (!first || definitions.length === 0) return undefined;
  return { text: definitions.map(definitionMarkdown).join('\n\n---\n\n'), span: first.span };
}

function variableAt({ file, offset }: TextPosition, { variables }: Session): HoverText | undefined {
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

function directiveAt(at: TextPosition, { workspace }: Session): HoverText | undefined {
  const { table } = workspace;
  const { file } = at;
  // A cursor at the start of a word belongs to that word.
  const cursor = cursorAt({ file, offset: at.offset + 1 }, (name) => table.named(name).length > 0);
  if (!cursor || cursor.words.length > 0 || cursor.start === cursor.end) return undefined;
  const name = file.source.text.slice(cursor.start, cursor.end);
  const span = { source: file.source, start: cursor.start, end: cursor.end };
  if (name === 'include') return { text: includeMarkdown(), span };
  const kinds = blockKindsAt(cursor, workspace);
  const entries = new Set(kinds.flatMap((kind) => entryOf(name, kind, table) ?? []));
  if (entries.size === 0) return undefined;
  return { text: [...entries].map((entry) => directiveMarkdown(entry, table)).join('\n\n---\n\n'), span };
}
