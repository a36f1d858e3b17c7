export type { Cast } from './casts.ts';
export type { Context, ReadTarget } from './context.ts';
export { hasEmbeds, planRead, planRows } from './plan-read.ts';
export { planDelete, planInsert, planPut, planUpdate, writtenTable } from './plan-write.ts';
export type { BodyShape, WriteRequest } from './plan-write.ts';
export type { Condition, Embed, Output, ReadNode, ReadPlan, Sort, Value } from './read-plan.ts';
export type { Conflict, PlannedWrite, TouchedRows, WritePlan, Written } from './write-plan.ts';
