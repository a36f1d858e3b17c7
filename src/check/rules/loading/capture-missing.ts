import type { DirectiveNode } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import { capturesIn, ownPatterns, patternsOf, stepPatterns } from '../../captures.ts';
import type { CaptureUse, Pattern } from '../../captures.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const captureMissing: Rule = {
  id: 'GW115',
  slug: 'capture-missing',
  severity: 'warning',
  summary: 'a "$1" to "$9" that no pattern can have filled',
  why: 'It is empty for every request: the path or the host that it should have completed is another one.',
  fix: 'Count the groups of the pattern, or give them names: "(?<id>...)" and "$id".',
  bad: { text: 'rewrite ^/user/([0-9]+)$ /users/$1/$2 last;' },
  good: { text: 'rewrite ^/user/([0-9]+)/([a-z]+)$ /users/$1/$2 last;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    const elsewhere = groupsElsewhere(config);
    const known = new Map<BlockView, readonly Pattern[]>();
    for (const { node, block } of config.uses(...TAKES_CAPTURES)) {
      const captures = wordsOf(node).flatMap(capturesIn);
      if (captures.length === 0) continue;
      const patterns = node.name.value === 'rewrite' ? ownOf(node, block) : reaching(block, known);
      // The pattern of a "rewrite" could not be read, which has been reported.
      if (!patterns) continue;
      const least = node.name.value === 'rewrite' ? 0 : elsewhere;
      const most = Math.max(least, ...patterns.map(({ groups }) => groups));
      for (const use of captures.filter(({ capture }) => capture > most))
        yield problemOf(use, most, patterns);
    }
  },
};

/** Directives that take captures of what has matched before; those of `proxy_redirect` and the like are their own. */
const TAKES_CAPTURES =
  'rewrite return set root alias try_files error_page proxy_pass add_header proxy_set_header kv_key access_log'.split(
    ' ',
  );

function wordsOf({ name, args }: DirectiveNode): DirectiveNode['args'] {
  if (name.value === 'rewrite') return args.slice(1);
  return args;
}

function ownOf(node: DirectiveNode, block: BlockView): readonly Pattern[] | undefined {
  const pattern = stepPatterns(block).get(node);
  return pattern && [pattern];
}

/**
 * The patterns whose groups may be there when a directive of the block is looked at. A location that is found by a pattern
 * has its own; any other, be it by an internal redirect, may have those of the whole server.
 */
function reaching(block: BlockView, known: Map<BlockView, readonly Pattern[]>): readonly Pattern[] {
  const around = [...block.outward()];
  const from =
    around.find((each) => each.context === 'location' && ownPatterns(each).length > 0) ??
    around.find(({ context }) => context === 'server') ??
    block;
  const patterns = known.get(from) ?? patternsOf(from);
  known.set(from, patterns);
  return patterns;
}

/** The patterns of maps and of `valid_referers` leave their groups, too; where there are some, the most that it can be. */
function groupsElsewhere(config: CheckedConfig): number {
  const lines = config.uses('map').flatMap(({ node }) => (node.block ?? []).map(({ name }) => name));
  const words = [...lines, ...config.uses('valid_referers').flatMap(({ node }) => node.args)];
  const brackets = words.map(({ value }) => (value.startsWith('~') ? value.split('(').length - 1 : 0));
  return brackets.reduce((most, count) => Math.max(most, count), 0);
}

function problemOf({ capture, span }: CaptureUse, most: number, patterns: readonly Pattern[]): Problem {
  const [only, ...others] = patterns;
  const groups = most === 1 ? '1 group' : `${most || 'no'} groups`;
  const what =
    only && others.length === 0 ? `the pattern has ${groups}` : `no pattern here has more than ${groups}`;
  const at = only && others.length === 0 ? only.node?.args[0]?.span : undefined;
  return {
    at: span,
    message: `"$${capture}" is used, but ${most === 0 ? 'no pattern here has a group' : what}`,
    related: at && [{ span: at, label: `${groups} here` }],
  };
}
