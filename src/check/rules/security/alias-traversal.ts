import type { LocationMatch } from '../../../contract/index.ts';
import { lengthened } from '../../edits.ts';
import type { CheckedConfig, Problem, Rule, Use } from '../../rule.ts';
import { shown } from '../../shown.ts';

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
    for (const use of config.uses('alias')) {
      const match = use.block.args as LocationMatch | undefined;
      const problem =
        match?.kind === 'prefix'
          ? problemOfPrefix(use, match.path)
          : match?.kind === 'regex' && problemOfRegex(use, match.regex.pattern);
      if (problem) yield problem;
    }
  },
};

function problemOfPrefix({ node, block }: Use, prefix: string): Problem | undefined {
  const [path] = node.args;
  const word = block.node?.args.at(-1);
  if (prefix.endsWith('/') || !path?.value.endsWith('/') || !word) return undefined;
  return {
    at: node,
    message: `location "${prefix}" + alias "${shown(path, path.value)}" also serves "${prefix}../"`,
    label: 'alias has one',
    related: [{ span: word.span, label: 'prefix has no trailing slash' }],
    fix: {
      title: `end the location with "/": requests for "${prefix}" itself are answered otherwise then`,
      safe: false,
      edits: [lengthened(word, '/')],
    },
  };
}

/** A group for any text, behind something that is no slash: `^/img(.*)$`. */
const ANY_REST = /(?:[^/\\([|]|\\.)\((?:\?P?<(\w+)>)?\.[*+]\??\)\$?$/;

function problemOfRegex({ node, block }: Use, pattern: string): Problem | undefined {
  const [path] = node.args;
  const word = block.node?.args.at(-1);
  const group = ANY_REST.exec(pattern);
  const used = /\/\$(?:\{?(\w+)\}?)$/.exec(path?.value ?? '')?.[1];
  const last = String(pattern.match(/\((?!\?[:=!])/g)?.length);
  if (!group || !path || !word || (used !== group[1] && used !== last)) return undefined;
  return {
    at: node,
    message: `alias "${shown(path, path.value)}" also serves the folder above: $${used} can begin with "../"`,
    hint: 'let a slash stand before the group: "^/img/(.*)$"',
    related: [{ span: word.span, label: 'matches any text behind the prefix' }],
  };
}
