import { contextsText, syntaxOf } from './choose.ts';
import type { Entry, Registry } from './registry.ts';

const HEAD = `# Directives

Every directive that gw understands, by module. Generated from the directive tables by \`npm run reference\`; do not edit.
`;

/** Every directive as Markdown, from the rows: syntax, default, contexts, what it does. */
export function referenceText(registry: Registry): string {
  const modules = registry.owners.flatMap((owner) => {
    const entries = registry.entries.filter((entry) => entry.owner === owner && !('accepted' in entry.row));
    return entries.length === 0 ? [] : [{ owner, entries }];
  });
  const contents = modules.map(
    ({ owner, entries }) => `- [${owner}](#${owner}): ${entries.map(linkTo).join(', ')}`,
  );
  const sections = modules.map(
    ({ owner, entries }) => `## ${owner}\n\n${entries.map((entry) => entryText(entry, registry)).join('\n')}`,
  );
  const accepted = acceptedText(registry);
  return `${[HEAD, `${contents.join('\n')}\n`, ...sections, accepted].filter(Boolean).join('\n')}`;
}

/** A name may stand in two contexts with two meanings; the anchor tells them apart. */
function anchorOf({ name, owner }: Entry): string {
  return `${owner}-${name}`;
}

function linkTo(entry: Entry): string {
  return `[${entry.name}](#${anchorOf(entry)})`;
}

function entryText(entry: Entry, registry: Registry): string {
  const { name, row } = entry;
  const isBlock = 'opens' in row || 'data' in row;
  const lines = [
    `<a id="${anchorOf(entry)}"></a>`,
    '',
    `### ${name}`,
    '',
    row.summary,
    '',
    `- Syntax: \`${syntaxOf(name, row)}${isBlock ? '' : ';'}\``,
    `- Context: ${contextsText(row.contexts, registry)}`,
  ];
  const fallback = defaultText(row);
  if (fallback !== undefined) lines.push(`- Default: ${fallback}`);
  if ('repeat' in row && row.repeat === 'append') lines.push('- May be repeated');
  if (row.secret !== undefined) lines.push('- Secret: masked in dumps and logs');
  const [, nginxModule, directive] = /^nginx (\w+)#(\w+)$/.exec(row.source) ?? [];
  if (nginxModule !== undefined)
    lines.push(
      `- As in nginx: [${directive}](https://nginx.org/en/docs/${pageOf(nginxModule)}.html#${directive})`,
    );
  return `${lines.join('\n')}\n`;
}

function pageOf(nginxModule: string): string {
  return nginxModule === 'ngx_core_module' ? nginxModule : `http/${nginxModule}`;
}

function defaultText(row: Entry['row']): string | undefined {
  if ('defaultText' in row && row.defaultText !== undefined) return `\`${row.defaultText}\``;
  if (!('default' in row) || row.default === undefined) return undefined;
  if (typeof row.default === 'boolean') return row.default ? '`on`' : '`off`';
  return typeof row.default === 'object' ? undefined : `\`${String(row.default)}\``;
}

function acceptedText(registry: Registry): string {
  const lines = registry.entries.flatMap(({ name, row }) =>
    'accepted' in row ? [`| \`${name}\` | ${contextsText(row.contexts, registry)} | ${row.accepted} |`] : [],
  );
  if (lines.length === 0) return '';
  const head = '| Directive | Context | Why it has no effect |\n| --- | --- | --- |';
  return `## Accepted without effect\n\nA configuration that was written for nginx may keep these.\n\n${head}\n${lines.join('\n')}\n`;
}
