import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { LocationMatch } from '../../../contract/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const namedLocationUnused: Rule = {
  id: 'GW218',
  slug: 'named-location-unused',
  severity: 'info',
  summary: 'a named location that nothing refers to',
  why: 'No URI leads to it: only "try_files", "error_page" and the like do, so it never answers. Most often a name is misspelt.',
  fix: 'Refer to it, or delete it.',
  bad: { text: 'location @old { return 410; }' },
  good: { text: 'error_page 404 @old;\nlocation @old { return 410; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const server of config.blocks('server')) {
      const above = server.outer?.own(...SENDS_ON) ?? [];
      const names = namesIn([...above, ...server.own()]);
      // A variable may hold any name.
      if ([...names].some((name) => name.includes('$'))) continue;
      for (const { node, args } of server.inner) {
        const match = args as LocationMatch | undefined;
        if (!node || match?.kind !== 'named' || names.has(match.name)) continue;
        const span = node.args.at(-1)?.span ?? node.name.span;
        yield { at: span, message: `named location "${match.name}" is never referred to` };
      }
    }
  },
};

/** Directives of the http block whose last word may be a location. */
const SENDS_ON = ['error_page', 'post_action'];

/** The words of a server, and of what it inherits, that name a location or may turn out to do so. */
function namesIn(nodes: readonly DirectiveNode[]): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...nodes];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    waiting.push(...(node.block ?? []));
    if (node.name.value === 'location') continue;
    const last = SENDS_ON.includes(node.name.value) ? node.args.at(-1)?.value : undefined;
    for (const { value } of node.args) if (value.startsWith('@')) found.add(value);
    if (last?.startsWith('$')) found.add(last);
  }
  return found;
}
