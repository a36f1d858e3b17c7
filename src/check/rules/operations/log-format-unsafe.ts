import type { DirectiveNode, Word } from '../../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const logFormatUnsafe: Rule = {
  id: 'GW906',
  slug: 'log-format-unsafe',
  severity: 'warning',
  summary: 'a log format of JSON whose values are not escaped as JSON',
  why: 'A client that sends a quotation mark or a backslash breaks the line, or writes members of its own into it.',
  fix: 'Add escape=json.',
  bad: { in: 'http', text: `log_format main '{"uri":"$uri","status":$status}';` },
  good: { in: 'http', text: `log_format main escape=json '{"uri":"$uri","status":$status}';` },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('log_format')) {
      const [name, second, ...more] = node.args;
      if (!name || !second || !isJson(node)) continue;
      const escape = second.value.startsWith('escape=') ? second : undefined;
      if (escape?.value === 'escape=json' || (escape && more.length === 0)) continue;
      yield {
        at: node,
        message: `"log_format ${name.value}" writes JSON without "escape=json"`,
        fix: { title: 'escape values as JSON', safe: true, edits: [edit(name, escape)] },
      };
    }
  },
};

/** A text that begins as an object and has a variable between quotation marks. */
function isJson({ args }: DirectiveNode): boolean {
  const [, ...words] = args;
  const text = words
    .map(({ value }) => value)
    .filter((value) => !value.startsWith('escape='))
    .join('');
  return /^\s*\{/.test(text) && /"\s*:\s*"[^"]*\$/.test(text);
}

function edit(name: Word, escape: Word | undefined): { readonly span: Word['span']; readonly text: string } {
  if (escape) return { span: escape.span, text: 'escape=json' };
  const { source, end } = name.span;
  return { span: { source, start: end, end }, text: ' escape=json' };
}
