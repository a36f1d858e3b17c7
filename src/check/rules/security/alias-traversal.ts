import type { LocationMatch } from '../../../contract/index.ts';
import { lengthened } from '../../edits.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const aliasTraversal: Rule = {
  id: 'GW301',
  slug: 'alias-traversal',
  severity: 'error',
  summary: 'a location without a final slash whose alias has one',
  why: 'The prefix "/img" also matches "/img../", which nginx maps to the folder above the alias: everything beside it can be read.',
  fix: 'End the location with a slash, as the alias does.',
  bad: { text: 'location /img { alias /srv/img/; }' },
  good: { text: 'location /img/ { alias /srv/img/; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('alias')) {
      const match = block.args as LocationMatch | undefined;
      const [path] = node.args;
      const prefix = block.node?.args.at(-1);
      if (match?.kind !== 'prefix' || match.path.endsWith('/') || !path?.value.endsWith('/') || !prefix)
        continue;
      yield {
        at: node,
        message: `location "${match.path}" + alias "${path.value}" also serves "${match.path}../"`,
        label: 'alias has one',
        related: [{ span: prefix.span, label: 'prefix has no trailing slash' }],
        fix: {
          title: `end the location with "/": requests for "${match.path}" itself are answered otherwise then`,
          safe: false,
          edits: [lengthened(prefix, '/')],
        },
      };
    }
  },
};
