import type { Fault, Report, Severity } from '../../grammar/index.ts';
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
  const { id, slug } = ruleNamed(rule) as Rule;
  return { ...fault, rule: id, slug, severity: SEVERITIES[severity] };
}

/** What the rules find; those that are off by default only where `isOn` says so. */
export function runRules(
  config: CheckedConfig,
  isOn: (rule: Rule) => boolean = ({ off }) => off !== true,
): readonly Finding[] {
  return RULES.filter(isOn).flatMap((rule) =>
    [...(rule.check?.(config) ?? [])].map((problem) => findingFor(rule, problem)),
  );
}

function findingFor({ id, slug, severity }: Rule, { at, ...problem }: Problem): Finding {
  return { ...problem, rule: id, slug, severity, span: 'source' in at ? at : at.span };
}

/** Findings in the order of reading: by source, then by place. */
export function sorted(findings: readonly Finding[], { sources }: Report): readonly Finding[] {
  const ranks = new Map(sources.map((source, index) => [source, index]));
  const rank = ({ span }: Finding): number => (span ? (ranks.get(span.source) ?? sources.length) : -1);
  return findings.toSorted(
    (a, b) =>
      rank(a) - rank(b) || (a.span?.start ?? 0) - (b.span?.start ?? 0) || a.rule.localeCompare(b.rule),
  );
}
