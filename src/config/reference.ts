import { contextName, syntaxOf } from './choose.ts';
import type { Entry, Registry } from './registry.ts';

/** Every directive as Markdown, from the rows: syntax, default, contexts, what it does. */
export function referenceText(registry: Registry): string {
  const sections = registry.owners.map((owner) => {
    const entries = registry.entries.filter((entry) => entry.owner === owner);
    return entries.length === 0 ? '' : `## ${owner}\n\n${entries.map(entryText).join('\n')}`;
  });
  return `# Directives\n\nGenerated from the directive tables by \`npm run reference\`; do not edit.\n\n${sections.filter(Boolean).join('\n')}`;
}

function entryText({ name, row }: Entry): string {
  const lines = [
    `### ${name}`,
    '',
    row.summary,
    '',
    `- Syntax: \`${syntaxOf(name, row)}${'opens' in row || 'data' in row ? '' : ';'}\``,
    `- Context: ${row.contexts.map(contextName).join(', ')}`,
  ];
  const fallback = defaultText(row);
  if (fallback !== undefined) lines.push(`- Default: \`${fallback}\``);
  if (row.source.startsWith('nginx ')) lines.push(`- As in nginx: \`${row.source.slice(6)}\``);
  return `${lines.join('\n')}\n`;
}

function defaultText(row: Entry['row']): string | undefined {
  if ('defaultText' in row && row.defaultText !== undefined) return row.defaultText;
  if (!('default' in row) || row.default === undefined) return undefined;
  if (typeof row.default === 'boolean') return row.default ? 'on' : 'off';
  return typeof row.default === 'object' ? undefined : String(row.default);
}
