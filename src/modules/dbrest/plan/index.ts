export type { Cast } from './casts.ts';
export type { Context, ReadTarget } from './context.ts';
export { mediaHandlersOf } from './media-handlers.ts';
export { planCall } from './plan-call.ts';
export type { CallPlan, CallRequest } from './plan-call.ts';
export { hasEmbeds, planRead, planRows } from './plan-read.ts';
export type { Condition, Embed, Output, ReadNode, ReadPlan, Sort, Value } from './read-plan.ts';
