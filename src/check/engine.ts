import type { DirectiveNode, Fault, Report, Severity, Span } from '../../grammar/index.ts';
import type { Finding } from './finding.ts';
import type { CheckedConfig, Problem, Rule, RuleSeverity } from './rule.ts';
import { ruleNamed, RULES } from './rules/index.ts';

const SEVERITIES: Readonly<Record<Severity, RuleSeverity>> = {
  emerg: 'error',
  warn: 'warning',
  notice: 'info',
};

/** A fault that names no rule is about a value. */
const UNNAMED = 'bad-value';

/** What the load found, by rules. */
export function findingsOfLoad({ faults }: Report): readonly Finding[] {
  return faults.map(findingOf);
}

function findingOf({ severity, rule = UNNAMED, ...fault }: Fault): Finding {
  const { id, slug } = (ruleNamed(rule) ?? ruleNamed(UNNAMED)) as Rule;
  return {
    ...fault,
    rule: id,
    slug,
    severity: SEVERITIES[severity],
    ...(severity === 'emerg' && { refuses: true }),
  };
}

/** What the rules find that `isOn` says yes to. */
export function runRules(config: CheckedConfig, isOn: (rule: Rule) => boolean): readonly Finding[] {
  return RULES.filter(isOn).flatMap((rule) => problemsOf(rule, config).map((each) => findingFor(rule, each)));
}

function problemsOf(rule: Rule, config: CheckedConfig): readonly Problem[] {
  try {
    return [...(rule.check?.(config) ?? [])];
  } catch (cause) {
    throw new Error(`rule ${rule.id} failed: ${(cause as Error).message}`, { cause });
  }
}

/** A problem of a rule. */
export function findingFor({ id, slug, severity }: Rule, { at, ...problem }: Problem): Finding {
  return { severity, ...problem, rule: id, slug, span: 'source' in at ? at : headOf(at) };
}

/** From the name of a directive to its last word: carets below a whole block say nothing. */
function headOf({ name, args }: DirectiveNode): Span {
  return { ...name.span, end: (args.at(-1) ?? name).span.end };
}

/** Findings in the order of reading, by source, then by place; each once, however often its file is included. */
export function sorted(findings: readonly Finding[], { sources }: Report): readonly Finding[] {
  const ranks = new Map(sources.map((source, index) => [source, index]));
  const rank = ({ span }: Finding): number => (span ? (ranks.get(span.source) ?? sources.length) : -1);
  const start = ({ span }: Finding): number => span?.start ?? 0;
  const seen = new Set<string>();
  return findings
    .filter((finding) => {
      const key = `${rank(finding)} ${start(finding)} ${finding.rule} ${finding.message}`;
      return !seen.has(key) && seen.add(key);
    })
    .toSorted((a, b) => rank(a) - rank(b) || start(a) - start(b) || (a.rule < b.rule ? -1 : 1));
}
