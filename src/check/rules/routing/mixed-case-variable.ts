import type { Span } from '../../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const mixedCaseVariable: Rule = {
  id: 'GW217',
  slug: 'mixed-case-variable',
  severity: 'info',
  summary: 'one variable in two spellings',
  why: 'The case of a variable does not count: two that differ in it alone are one, and setting one sets the other.',
  fix: 'Write it in lower case everywhere, or give the second another name.',
  bad: { text: 'set $Site_Name blue;\nadd_header X-Site $site_name;' },
  good: { text: 'set $site_name blue;\nadd_header X-Site $site_name;' },
  *check({ bound }: CheckedConfig): Iterable<Problem> {
    // Of those that gw itself has, no spelling can be set.
    const uses = bound.uses.filter(({ name }) => bound.defined.has(name));
    const places = [...[...bound.defined].map(([name, span]) => ({ name, span })), ...uses];
    const first = new Map<string, Place>();
    const told = new Set<string>();
    for (const { name, span } of places) {
      const written = writtenAt(span, name);
      if (written === undefined) continue;
      const before = first.get(name);
      if (!before) first.set(name, { written, span });
      else if (before.written !== written && !told.has(name)) {
        told.add(name);
        yield {
          at: span,
          message: `"$${written}" and "$${before.written}" are one variable`,
          related: [{ span: before.span, label: 'written otherwise here' }],
        };
      }
    }
  },
};

interface Place {
  readonly written: string;
  readonly span: Span;
}

/** As the text spells it; `undefined` where it is not a plain `$name`, such as a named group of a pattern. */
function writtenAt({ source, start, end }: Span, name: string): string | undefined {
  const written = /^\$\{?(\w+)\}?$/.exec(source.text.slice(start, end))?.[1];
  return written?.toLowerCase() === name ? written : undefined;
}
