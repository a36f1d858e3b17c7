export { checkedConfig } from './checked-config.ts';
export type { Finding, SuppressedFinding } from './finding.ts';
export * from './output/index.ts';
export { review } from './review.ts';
export type { Review, ReviewOptions } from './review.ts';
export type { CheckedConfig, Example, Problem, Rule, RuleSeverity, Use } from './rule.ts';
export { ruleNamed, RULES } from './rules/index.ts';
export { isRuleName, nearestRule } from './selection.ts';
export type { Selection } from './selection.ts';
