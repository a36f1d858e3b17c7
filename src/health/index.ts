export type { CheckResult } from './group-checks.ts';
export { responseVariable } from './match.ts';
export { type Health, OpenHealth } from './open-checks.ts';
export {
  type CheckPlan,
  DEFAULT_RULES,
  type EventTarget,
  type HealthCheck,
  type HealthPlan,
  type MatchBlock,
  type MatchRule,
  type ProbeRequest,
  type StatusRange,
  type UrlProbe,
} from './plan.ts';
