export { checkedConfig } from './checked-config.ts';
export type {
  Finding,
  SuppressedFinding,
  CheckedConfig,
  Example,
  MadeFile,
  Problem,
  Rule,
  RuleSeverity,
  Use,
} from './rule.ts';
export { liveFindings } from './live.ts';
export * from './output/index.ts';
export { mendableAtOnce, mended, type Mendable } from './edits.ts';
export { review, type Review, type ReviewOptions } from './review.ts';
export { ruleNamed, RULES } from './rules/index.ts';
export { contextOf, FRAGMENT_CONTEXTS, innermost, judgesFragments, wholeAround } from './fragment.ts';
export { isRuleName, means, nearestRule, type Selection } from './selection.ts';
