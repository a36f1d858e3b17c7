export { checkedConfig } from './checked-config.ts';
export { findingsOfLoad, runRules, sorted } from './engine.ts';
export type { Finding } from './finding.ts';
export type { CheckedConfig, Example, Problem, Rule, RuleSeverity, Use } from './rule.ts';
export { ruleNamed, RULES } from './rules/index.ts';
