import type { DirectiveNode, Source, Span } from '../../grammar/index.ts';
import type { BlockView } from '../config/index.ts';
import { removed } from './edits.ts';
import type { Finding, SuppressedFinding } from './finding.ts';
import { ignoreComments } from './ignore-comments.ts';
import type { Ignore } from './ignore-comments.ts';
import type { Rule } from './rule.ts';
import { ruleNamed, RULES } from './rules/index.ts';
import { isRuleName, means, nearestRule } from './selection.ts';

/** What is left of the findings, what was ignored, and what is wrong with the ignoring itself. */
export interface Suppressed {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly SuppressedFinding[];
  readonly faults: readonly Finding[];
}

/** Where to look for what is ignored, and which rules were asked. */
export interface SuppressOptions {
  readonly sources: readonly Source[];
  /** Absent where the configuration could not be read. */
  readonly main: BlockView | undefined;
  /** A rule that was not asked finds nothing: ignoring it is not in vain. False for all where the load failed. */
  readonly wasAsked: (rule: Rule) => boolean;
}

/** Takes away what comments and the `check` block ignore; tells what they ignore in vain, or without a reason. */
export function suppress(all: readonly Finding[], { sources, main, wasAsked }: SuppressOptions): Suppressed {
  const ignores = [
    ...sources.flatMap(ignoreComments).map((ignore) => new Watched(ignore, 'comment')),
    ...(main ? ignoresOfBlocks(main) : []).map((ignore) => new Watched(ignore, 'configuration')),
  ];
  const findings: Finding[] = [];
  const suppressed: SuppressedFinding[] = [];
  for (const finding of all) {
    const ignore = finding.refuses ? undefined : ignores.find((each) => each.takes(finding));
    if (!ignore) findings.push(finding);
    else suppressed.push({ ...finding, suppression: { by: ignore.by, reason: ignore.reason } });
  }
  const faults = ignores.flatMap((ignore) => [...ignore.faults(wasAsked)]);
  return { findings, suppressed, faults };
}

/** `check { ignore GW311 "reason"; }` */
function ignoresOfBlocks(main: BlockView): readonly Ignore[] {
  const blocks = main.inner.filter(({ context }) => context === 'check');
  return blocks.flatMap((block) =>
    wellFormed(block.own('ignore')).map((node) => ({
      rules: node.args.slice(0, -1).map(({ value }) => value),
      reason: node.args.at(-1)?.value ?? '',
      span: node.span,
      without: () => removed(node),
    })),
  );
}

/** One that lacks a word is a fault of the load already. */
function wellFormed(nodes: readonly DirectiveNode[]): readonly DirectiveNode[] {
  return nodes.filter(({ args }) => args.length >= 2);
}

/** Something to ignore, and which of its rules really found something. */
class Watched {
  readonly by: SuppressedFinding['suppression']['by'];
  readonly #ignore: Ignore;
  readonly #used = new Set<string>();

  constructor(ignore: Ignore, by: Watched['by']) {
    this.#ignore = ignore;
    this.by = by;
  }

  get reason(): string {
    return this.#ignore.reason;
  }

  /** What is about several places can be ignored at each of them. */
  takes({ rule: id, slug, span, related = [] }: Finding): boolean {
    const { covers, rules, reason } = this.#ignore;
    const places = span ? [span, ...related.map((place) => place.span)] : [];
    if (reason === '' || (covers && !places.some((place) => isIn(place, covers)))) return false;
    const names = rules.filter((name) => means(name, { id: id as Rule['id'], slug }));
    for (const name of names) this.#used.add(name);
    return names.length > 0;
  }

  *faults(wasAsked: (rule: Rule) => boolean): Iterable<Finding> {
    const { rules, reason, span } = this.#ignore;
    const unknown = rules.filter((name) => !isRuleName(name));
    for (const name of unknown) {
      const near = nearestRule(name);
      const hint = near === undefined ? '"gw why --list" shows all rules' : `did you mean "${near}"?`;
      yield finding({ rule: 'bad-suppression', span, message: `there is no rule "${name}" to ignore`, hint });
    }
    const named = rules.join(', ');
    if (rules.length === 0)
      yield finding({ rule: 'bad-suppression', span, message: 'ignore comment names no rule', hint: FORM });
    else if (reason === '')
      yield finding({
        rule: 'bad-suppression',
        span,
        message: `ignoring "${named}" needs a reason`,
        hint: FORM,
      });
    if (reason === '') return;
    const vain = rules.filter(
      (name) => !unknown.includes(name) && !this.#used.has(name) && areAsked(name, wasAsked),
    );
    if (vain.length > 0) yield this.#inVain(vain);
  }

  #inVain(rules: readonly string[]): Finding {
    const { span, without } = this.#ignore;
    const what = this.by === 'comment' ? 'ignore comment' : '"ignore"';
    return finding({
      rule: 'unused-suppression',
      span,
      message: `${what} for "${rules.join(', ')}" matches nothing`,
      fix: { title: 'delete it', safe: true, edits: [without(rules)] },
    });
  }
}

const FORM = 'write "# gw-ignore GW304: why this is meant"';

function finding({ rule, ...rest }: Omit<Finding, 'slug' | 'severity'>): Finding {
  const { id, slug, severity } = ruleNamed(rule) as Rule;
  return { ...rest, rule: id, slug, severity };
}

/** Whether every rule that the name means was asked. */
function areAsked(name: string, wasAsked: (rule: Rule) => boolean): boolean {
  return RULES.filter((rule) => means(name, rule)).every(wasAsked);
}

function isIn({ source, start }: Span, covers: Span): boolean {
  return source === covers.source && covers.start <= start && start <= covers.end;
}
