export type { Cast } from './casts.ts';
export type { Context, ReadTarget } from './context.ts';
export { hasEmbeds, planRead, planRows } from './plan-read.ts';
export type { Condition, Embed, Output, ReadNode, ReadPlan, Sort, Value } from './read-plan.ts';
