export { planRead } from './plan-read.ts';
export type { ReadTarget } from './plan-read.ts';
export type { Condition, Output, ReadPlan, Sort } from './read-plan.ts';
