import { type DirectiveNode, type Span, spanInWord, type Word } from '../../../../grammar/index.ts';
import { type BlockView, oncePer, type ReadRegex } from '../../../config/index.ts';
import {
  type CheckedConfig,
  type Condition,
  configOf,
  matchOf,
  type Problem,
  type Rule,
} from '../../../contract/index.ts';
import { stepsOf } from '../rewriting.ts';

/** A `$1` to `$9` in a word. */
interface CaptureUse {
  readonly capture: number;
  readonly span: Span;
}

/** A pattern of the configuration: its number of groups and its directive. */
interface Pattern {
  readonly groups: number;
  readonly node: DirectiveNode | undefined;
}

/** The captures in a word, without text from `${env:…}`. */
function capturesIn(word: Word): readonly CaptureUse[] {
  return [...word.value.matchAll(/\$([1-9])/g)].flatMap(({ index, 1: digit }) =>
    word.literals.some(([start, end]) => start <= index && index < end)
      ? []
      : { capture: Number(digit), span: spanInWord(word, index, index + 2) },
  );
}

/** The pattern of each `rewrite` and `if` of a block, by directive. */
const stepPatterns = oncePer(
  (block: BlockView): ReadonlyMap<DirectiveNode, Pattern> =>
    new Map(
      stepsOf(block).flatMap(({ step, node }) => {
        const regex = 'regex' in step ? step.regex : step.kind === 'if' ? regexIn(step.condition) : undefined;
        return regex ? [[node, { groups: regex.groups, node }]] : [];
      }),
    ),
);

function regexIn(condition: Condition): ReadRegex | undefined {
  return condition.test === 'match' ? condition.regex : undefined;
}

/** The patterns of a block: its own, and those of the steps in it and in nested blocks. */
function patternsOf(block: BlockView): readonly Pattern[] {
  return [...ownPatterns(block), ...stepPatterns(block).values(), ...block.inner.flatMap(patternsOf)];
}

/** The pattern of a location, or the patterns in the names of a server. */
function ownPatterns(block: BlockView): readonly Pattern[] {
  const { node } = block;
  if (block.context === 'server') {
    const { serverNames } = configOf(block.level, 'core');
    return (serverNames?.flat() ?? []).flatMap((name) =>
      name.kind === 'regex' ? { groups: name.regex.groups, node } : [],
    );
  }
  const match = matchOf(block);
  return match?.kind === 'regex' ? [{ groups: match.regex.groups, node }] : [];
}

const captureMissing: Rule = {
  id: 'GW115',
  slug: 'capture-missing',
  severity: 'warning',
  summary: 'a "$1" to "$9" that no pattern can set',
  why: 'It is always empty, so the path or host that contains it is wrong.',
  fix: 'Count the groups of the pattern, or give them names: "(?<id>...)" and "$id".',
  bad: { text: 'rewrite ^/user/([0-9]+)$ /users/$1/$2 last;' },
  good: { text: 'rewrite ^/user/([0-9]+)/([a-z]+)$ /users/$1/$2 last;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    const elsewhere = groupsElsewhere(config);
    const known = new Map<BlockView, ReachingGroups>();
    for (const { node, block } of config.uses(...TAKES_CAPTURES)) {
      const isRewrite = node.name.value === 'rewrite';
      const captures = (isRewrite ? node.args.slice(1) : node.args).flatMap(capturesIn);
      if (captures.length === 0) continue;
      const reaching = isRewrite ? ownOf(node, block) : reachingTo(block, known);
      // The fault of the pattern in a "rewrite" has been reported.
      if (!reaching) continue;
      const most = Math.max(reaching.most, isRewrite ? 0 : elsewhere);
      for (const use of captures) if (use.capture > most) yield captureProblem(use, most, reaching.only);
    }
  },
};

/** The largest number of groups that may be set, and the pattern if it is the only one. */
interface ReachingGroups {
  readonly most: number;
  readonly only: Pattern | undefined;
}

function reachingOf(patterns: readonly Pattern[]): ReachingGroups {
  const most = patterns.reduce((so, { groups }) => Math.max(so, groups), 0);
  return { most, only: patterns.length === 1 ? patterns[0] : undefined };
}

/** Directives that use captures of an earlier match. `proxy_redirect` and similar directives use their own pattern. */
const TAKES_CAPTURES =
  'rewrite return set root alias try_files error_page proxy_pass add_header proxy_set_header kv_key access_log'.split(
    ' ',
  );

function ownOf(node: DirectiveNode, block: BlockView): ReachingGroups | undefined {
  const pattern = stepPatterns(block).get(node);
  return pattern && reachingOf([pattern]);
}

/**
 * The groups that a block may use: in a regex location, those of its pattern and of its steps; in any other, which an
 * internal redirect may reach, those of the whole server.
 */
function reachingTo(block: BlockView, known: Map<BlockView, ReachingGroups>): ReachingGroups {
  const around = [...block.outward()];
  const from =
    around.find((each) => each.context === 'location' && ownPatterns(each).length > 0) ??
    around.find(({ context }) => context === 'server') ??
    block;
  const reaching = known.get(from) ?? reachingOf(patternsOf(from));
  known.set(from, reaching);
  return reaching;
}

/** The largest number of groups in maps and `valid_referers`, whose captures remain set as well. */
function groupsElsewhere(config: CheckedConfig): number {
  const lines = config.uses('map').flatMap(({ node }) => (node.block ?? []).map(({ name }) => name));
  const words = [...lines, ...config.uses('valid_referers').flatMap(({ node }) => node.args)];
  const brackets = words.map(({ value }) => (value.startsWith('~') ? value.split('(').length - 1 : 0));
  return brackets.reduce((most, count) => Math.max(most, count), 0);
}

function captureProblem({ capture, span }: CaptureUse, most: number, only: Pattern | undefined): Problem {
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

const captureReplaced: Rule = {
  id: 'GW226',
  slug: 'capture-replaced',
  severity: 'warning',
  summary: 'a "$1" to "$9" after the variable of a "map" with patterns',
  why: 'A value is evaluated from left to right. If a pattern of the "map" matches, it replaces all captures: "$1" is then the group of that pattern, or empty.',
  fix: 'Name the group of the first pattern: "(?<id>...)" and "$id".',
  bad: {
    in: 'http',
    text: 'map $host $tenant { default none; ~^(\\w+)\\.example$ $1; }\nserver { listen 8080; rewrite ^/(.*)$ /$tenant/$1 break; }',
  },
  good: {
    in: 'http',
    text: 'map $host $tenant { default none; ~^(\\w+)\\.example$ $1; }\nserver { listen 8080; rewrite ^/(?<rest>.*)$ /$tenant/$rest break; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const maps = patternMaps(config);
    if (maps.size === 0) return;
    for (const { node } of config.uses(...TAKES_CAPTURES)) {
      const words = node.name.value === 'rewrite' ? node.args.slice(1) : node.args;
      for (const word of words) {
        const [map, use] = replacedIn(word, maps);
        if (!map || !use) continue;
        const name = map.args[1]?.value ?? '';
        yield {
          at: use.span,
          message: `"$${use.capture}" is a group of the "map" of "${name}" if one of its patterns matches`,
          related: [{ span: map.span, label: 'has patterns' }],
        };
      }
    }
  },
};

/** The `map` blocks with patterns, by the names of their variables. */
function patternMaps(config: CheckedConfig): ReadonlyMap<string, DirectiveNode> {
  const found = config
    .uses('map')
    .filter(({ node }) => node.block?.some(({ name }) => name.value.startsWith('~')));
  return new Map(found.map(({ node }) => [node.args[1]?.value.slice(1) ?? '', node]));
}

/** The first such `map` in a word, and the first capture after it. */
function replacedIn(
  word: Word,
  maps: ReadonlyMap<string, DirectiveNode>,
): readonly [map?: DirectiveNode | undefined, use?: CaptureUse | undefined] {
  const names = [...word.value.matchAll(/\$\{?([a-z_]\w*)/gi)];
  const first = names.find(({ 1: name = '' }) => maps.has(name));
  if (!first) return [];
  const behind = spanInWord(word, first.index, first.index + 1).start;
  return [maps.get(first[1] ?? ''), capturesIn(word).find(({ span }) => span.start > behind)];
}

/** The rules about captures. */
export const CAPTURE_RULES: readonly Rule[] = [captureMissing, captureReplaced];
