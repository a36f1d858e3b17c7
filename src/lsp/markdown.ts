import { factsOf } from '../config/index.ts';
import type { Entry, Registry } from '../config/index.ts';
import type { VariableFacts } from '../lookups.ts';
import type { Occurrence } from './names.ts';

/** What is shown of the text that defines a name. */
const MAX_LINES = 12;

/** `include` is no row: it is gone before a directive meets its row. */
export const INCLUDE = {
  name: 'include',
  syntax: 'include file | mask;',
  summary: 'Reads the directives of other files here; a mask that matches nothing is fine.',
};

/** A directive as hovering shows it. */
export function directiveMarkdown(entry: Entry, table: Registry): string {
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

/** `include` as hovering shows it. */
export function includeMarkdown(): string {
  return paragraphs([code(INCLUDE.syntax), INCLUDE.summary, 'Context: any']);
}

/** A built-in variable as hovering shows it. */
export function variableMarkdown({ module, name, settable, summary }: VariableFacts): string {
  return paragraphs([
    code(`$${name.replace('*', 'NAME')}`),
    summary,
    settable && '`set` may change it.',
    `Module: ${module}`,
  ]);
}

/** A name that the configuration defines: the text that does it, from its line start. */
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
  // More backticks than any text of a configuration has in a row.
  return `\`\`\`\`\`nginx\n${text}\n\`\`\`\`\``;
}

function paragraphs(parts: readonly (string | false)[]): string {
  return parts.filter((part) => part !== false && part !== '').join('\n\n');
}
