export type { Cast } from './casts.ts';
export type { ReadTarget } from './context.ts';
export { hasEmbeds, planRead } from './plan-read.ts';
export type { Condition, Embed, Output, ReadNode, ReadPlan, Sort, Value } from './read-plan.ts';
