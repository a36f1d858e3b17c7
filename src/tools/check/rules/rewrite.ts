import { type DirectiveNode, reworded, type TextEdit } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../../contract/index.ts';
import { analysisOf } from '../analysis.ts';
import type { LocationTree, CheckedLocation } from '../locations/index.ts';
import type { Patterns } from '../regex/index.ts';
import { rewritten, stepsOf } from '../rewriting.ts';

/** The gateway stops after ten rounds; a chain of rewrites without a loop is shorter than this. */
const MANY_ROUNDS = 50;

const rewriteLoop: Rule = {
  id: 'GW213',
  slug: 'rewrite-loop',
  severity: 'error',
  summary: 'rewrite rules that run in a loop',
  why: 'With "last", or without a flag, the location is searched for again. If it is the same one, the rule runs again; after ten rounds the response is 500.',
  fix: 'Add "break" if the request should stay in its location, or narrow the pattern so that it does not match its own result.',
  bad: { text: 'location /files/ { rewrite ^/files/(.*)$ /files/public/$1 last; }' },
  good: { text: 'location /files/ { rewrite ^/files/(.*)$ /files/public/$1 break; }' },
  *check(config: CheckedConfig): Iterable<Problem> {
    if (config.uses('rewrite').length === 0) return;
    const { locations, patterns } = analysisOf(config);
    const told = new Set<DirectiveNode>();
    for (const [index, server] of config.blocks('server').entries()) {
      const tree = locations.trees[index];
      if (tree) yield* loopsIn(server, { tree, patterns, told });
    }
  },
};

interface LoopSearch {
  readonly tree: LocationTree;
  readonly patterns: Patterns;
  /** Directives of loops that have been reported. */
  readonly told: Set<DirectiveNode>;
}

function* loopsIn(server: BlockView, { tree, patterns, told }: LoopSearch): Iterable<Problem> {
  for (const location of tree.levels.flatMap(({ locations }) => locations)) {
    for (const uri of startsOf(location, patterns)) {
      if (tree.find(uri) !== location) continue;
      const loop = followed(uri, server, tree);
      const [first, ...others] = new Set(loop ?? []);
      if (!first || told.has(first)) continue;
      for (const node of [first, ...others]) told.add(node);
      yield loopProblem(uri, first, others);
    }
  }
}

/** URIs that lead to a location and that one of its rewrites probably matches. */
function startsOf({ block, match, pattern }: CheckedLocation, patterns: Patterns): readonly string[] {
  const leaving = stepsOf(block).flatMap(({ step }) =>
    step.kind === 'rewrite' && step.flag !== 'break' ? [step.regex] : [],
  );
  if (leaving.length === 0 || block.own('internal').length > 0) return [];
  const base = match.kind === 'regex' ? (pattern?.sample?.text ?? '/') : match.path;
  const samples = leaving.flatMap(({ pattern }) => {
    const sample = patterns.of(pattern, false)?.sample;
    return sample ? [sample.text, ...(sample.isStart ? [] : [base + sample.text])] : [];
  });
  const starts = [base, `${base}a`, `${base}/a`, ...samples];
  return [...new Set(starts.map((uri) => (uri.startsWith('/') ? uri : `/${uri}`)))];
}

/** The rewrites of an endless loop; `undefined` if it ends, or if that is not known. */
function followed(
  start: string,
  server: BlockView,
  tree: LocationTree,
): readonly DirectiveNode[] | undefined {
  const before = rewritten(server, start);
  if (before.kind !== 'stays' && before.kind !== 'moves') return undefined;
  let { uri } = before;
  const moves: DirectiveNode[] = [];
  while (moves.length < MANY_ROUNDS) {
    const location = tree.find(uri);
    const after = location && rewritten(location.block, uri);
    if (after?.kind !== 'moves') return undefined;
    uri = after.uri;
    moves.push(after.by);
  }
  return moves.slice(MANY_ROUNDS / 2);
}

function loopProblem(uri: string, node: DirectiveNode, others: readonly DirectiveNode[]): Problem {
  return {
    at: node,
    message: `"rewrite" runs in a loop for "${uri}": after 10 rounds the response is 500`,
    related: others.map(({ span }) => ({ span, label: 'leads back' })),
    fix: { title: 'add "break" to stay in the location', safe: false, edits: staying(node) },
  };
}

function staying({ args }: DirectiveNode): readonly TextEdit[] {
  const [, target, flag] = args;
  if (flag) return [reworded(flag, 'break')];
  return target ? [{ span: { ...target.span, start: target.span.end }, text: ' break' }] : [];
}

/** The rules about rewrites. */
export const REWRITE_RULES: readonly Rule[] = [rewriteLoop];
