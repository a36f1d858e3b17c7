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
    const known = new Map<BlockView, Reaching>();
    for (const { node, block } of config.uses(...TAKES_CAPTURES)) {
      const isRewrite = node.name.value === 'rewrite';
      const captures = (isRewrite ? node.args.slice(1) : node.args).flatMap(capturesIn);
      if (captures.length === 0) continue;
      const reaching = isRewrite ? ownOf(node, block) : reachingTo(block, known);
      // The pattern of a "rewrite" could not be read, which has been reported.
      if (!reaching) continue;
      const most = Math.max(reaching.most, isRewrite ? 0 : elsewhere);
      for (const use of captures) if (use.capture > most) yield problemOf(use, most, reaching.only);
    }
  },
};

/** The patterns whose groups may be there: the most groups that one of them has, and the pattern if it is the only one. */
interface Reaching {
  readonly most: number;
  readonly only: Pattern | undefined;
}

function reachingOf(patterns: readonly Pattern[]): Reaching {
  const most = patterns.reduce((so, { groups }) => Math.max(so, groups), 0);
  return { most, only: patterns.length === 1 ? patterns[0] : undefined };
}

/** Directives that take captures of what has matched before; those of `proxy_redirect` and the like are their own. */
const TAKES_CAPTURES =
  'rewrite return set root alias try_files error_page proxy_pass add_header proxy_set_header kv_key access_log'.split(
    ' ',
  );

function ownOf(node: DirectiveNode, block: BlockView): Reaching | undefined {
  const pattern = stepPatterns(block).get(node);
  return pattern && reachingOf([pattern]);
}

/**
 * A location that is found by a pattern has its groups, and those of the steps in it; any other, be it by an internal redirect,
 * may have those of the whole server.
 */
function reachingTo(block: BlockView, known: Map<BlockView, Reaching>): Reaching {
  const around = [...block.outward()];
  const from =
    around.find((each) => each.context === 'location' && ownPatterns(each).length > 0) ??
    around.find(({ context }) => context === 'server') ??
    block;
  const reaching = known.get(from) ?? reachingOf(patternsOf(from));
  known.set(from, reaching);
  return reaching;
}

/** The patterns of maps and of `valid_referers` leave their groups, too; where there are some, the most that it can be. */
function groupsElsewhere(config: CheckedConfig): number {
  const lines = config.uses('map').flatMap(({ node }) => (node.block ?? []).map(({ name }) => name));
  const words = [...lines, ...config.uses('valid_referers').flatMap(({ node }) => node.args)];
  const brackets = words.map(({ value }) => (value.startsWith('~') ? value.split('(').length - 1 : 0));
  return brackets.reduce((most, count) => Math.max(most, count), 0);
}

function problemOf({ capture, span }: CaptureUse, most: number, only: Pattern | undefined): Problem {
  const groups = most === 1 ? '1 group' : `${most} groups`;
  const several = most === 0 ? 'no pattern here has a group' : `no pattern here has more than ${groups}`;
  const pattern = only && only.groups === most && most > 0 ? only : undefined;
  const at = pattern?.node?.args.at(pattern.node.name.value === 'location' ? -1 : 0)?.span;
  return {
    at: span,
    message: `"$${capture}" is used, but ${pattern ? `the pattern has ${groups}` : several}`,
    related: at && [{ span: at, label: `${groups} here` }],
  };
}
