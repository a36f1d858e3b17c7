import { contextsText, syntaxOf } from './choose-entry.ts';
import type { DirectiveEntry, Registry } from './registry.ts';

/** The facts about a directive that the reference, `gw why` and editors show. */
export interface DirectiveFacts {
  readonly name: string;
  readonly module: string;
  /** The syntax as in nginx's documentation, with the closing semicolon or block. */
  readonly syntax: string;
  readonly contexts: readonly string[];
  readonly default?: string;
  readonly summary: string;
  /** URL of nginx's documentation, if nginx has the directive. */
  readonly nginx?: string;
  readonly repeatable: boolean;
  readonly secret: boolean;
  /** The reason, if the directive has no effect. */
  readonly accepted?: string;
  /** The parameters without effect, with the reasons. */
  readonly ignores?: Readonly<Record<string, string>>;
}

/** The facts about `include`, which has no row because the loader resolves it. */
export const INCLUDE: DirectiveFacts = {
  name: 'include',
  module: 'core',
  syntax: 'include file | mask;',
  contexts: ['any'],
  summary: 'Reads the directives of other files here; a mask that matches nothing is fine.',
  nginx: 'https://nginx.org/en/docs/ngx_core_module.html#include',
  repeatable: true,
  secret: false,
};

/** The facts about every directive, grouped by module. */
export function directiveFacts(registry: Registry): readonly DirectiveFacts[] {
  return [INCLUDE, ...registry.entries.map((entry) => factsOf(entry, registry))];
}

/** The facts about one directive. */
export function factsOf({ name, owner, row }: DirectiveEntry, registry: Registry): DirectiveFacts {
  const isBlock = 'opens' in row || 'data' in row;
  const fallback = defaultText(row);
  const nginx = nginxPage(row.source);
  return {
    name,
    module: owner,
    syntax: `${syntaxOf(name, row)}${isBlock ? '' : ';'}`,
    contexts: contextsText(row.contexts, registry).split(', '),
    ...(fallback !== undefined && { default: fallback }),
    summary: row.summary,
    ...(nginx !== undefined && { nginx }),
    repeatable: 'repeat' in row && row.repeat === 'append',
    secret: row.secret !== undefined,
    ...('accepted' in row && { accepted: row.accepted }),
    ...(row.ignores && { ignores: row.ignores }),
  };
}

function nginxPage(source: string): string | undefined {
  const [, module, directive] = /^nginx (\w+)#(\w+)$/.exec(source) ?? [];
  if (module === undefined) return undefined;
  const page = module === 'ngx_core_module' ? module : `http/${module}`;
  return `https://nginx.org/en/docs/${page}.html#${directive}`;
}

function defaultText(row: DirectiveEntry['row']): string | undefined {
  if ('defaultText' in row && row.defaultText !== undefined) return row.defaultText;
  if (!('default' in row) || row.default === undefined) return undefined;
  if (typeof row.default === 'boolean') return row.default ? 'on' : 'off';
  return typeof row.default === 'object' ? undefined : String(row.default);
}

const HEAD = `# Directives

Every directive that gw understands, by module. A name is found in [the alphabetical list](#by-name) at the end, or with \`gw why NAME\`.
Generated from the directive tables by \`npm run reference\`; do not edit.

| Module | Directives | |
| --- | --- | --- |
`;

/**
 * The reference in Markdown, generated from the rows: syntax, default, contexts and summary of every directive.
 * `variables` is the section about variables, which other rows describe.
 */
export function referenceText(registry: Registry, variables: string): string {
  const facts = directiveFacts(registry);
  const modules = registry.owners.flatMap((owner) => {
    const own = joined(facts.filter(({ module, accepted }) => module === owner && accepted === undefined));
    return own.length === 0 ? [] : [{ owner, own, summary: registry.summaries.get(owner) ?? '' }];
  });
  const contents = modules.map(
    ({ owner, own, summary }) => `| [${owner}](#${owner}) | ${own.length} | ${summary} |\n`,
  );
  const sections = modules.map(
    ({ owner, own, summary }) => `## ${owner}\n\n${summary}\n\n${own.map(entryText).join('\n')}`,
  );
  const listed = modules.flatMap(({ own }) => own);
  const accepted = facts.filter((each) => each.accepted !== undefined);
  return [
    `${HEAD}${contents.join('')}`,
    ...sections,
    variables,
    acceptedText(accepted),
    byNameText([...listed, ...joined(accepted)]),
  ]
    .filter(Boolean)
    .join('\n');
}

/** Merges the rows of a directive that opens different contexts into one entry. */
function joined(facts: readonly DirectiveFacts[]): readonly DirectiveFacts[] {
  const byName = new Map<string, DirectiveFacts>();
  for (const each of facts) {
    const { contexts = [], summary = '' } = byName.get(each.name) ?? {};
    byName.set(each.name, {
      ...each,
      contexts: [...contexts, ...each.contexts],
      summary: `${summary} ${each.summary}`.trim(),
    });
  }
  return [...byName.values()];
}

/** The anchor of a directive. It includes the module, because two modules may have a directive of the same name. */
function anchorOf({ name, module }: Pick<DirectiveFacts, 'name' | 'module'>): string {
  return `${module}-${name}`;
}

function entryText(facts: DirectiveFacts): string {
  const { name, syntax, contexts, summary, nginx, ignores = {} } = facts;
  const lines = [
    `<a id="${anchorOf(facts)}"></a>`,
    '',
    `### ${name}`,
    '',
    summary,
    '',
    `- Syntax: \`${syntax}\``,
    `- Context: ${contexts.join(', ')}`,
  ];
  if (facts.default !== undefined) lines.push(`- Default: \`${facts.default}\``);
  if (facts.repeatable) lines.push('- May be repeated');
  if (facts.secret) lines.push('- Secret: masked in dumps and logs');
  for (const [parameter, why] of Object.entries(ignores))
    lines.push(`- Without effect: \`${parameter}\`: ${why}`);
  if (nginx !== undefined) lines.push(`- As in nginx: [${nginx.split('#')[1]}](${nginx})`);
  return `${lines.join('\n')}\n`;
}

function acceptedText(facts: readonly DirectiveFacts[]): string {
  if (facts.length === 0) return '';
  const lines = facts.map(
    ({ name, contexts, accepted }) => `| \`${name}\` | ${contexts.join(', ')} | ${accepted} |`,
  );
  const head = '| Directive | Context | Why it has no effect |\n| --- | --- | --- |';
  return `## Accepted without effect\n\nA configuration that was written for nginx may keep these.\n\n${head}\n${lines.join('\n')}\n`;
}

/** The alphabetical list. A name that several modules have stands there once for each of them. */
function byNameText(facts: readonly DirectiveFacts[]): string {
  const lines = facts
    .toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
    .map(({ name, module, accepted }) =>
      accepted === undefined
        ? `- [${name}](#${anchorOf({ name, module })}) of ${module}`
        : `- [${name}](#accepted-without-effect), without effect`,
    );
  return `## By name\n\n${lines.join('\n')}\n`;
}
