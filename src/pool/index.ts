export { Pool } from './pool.ts';
export type { AcquireRules, PoolOptions } from './pool.ts';
export { PoolRefusal } from './refusal.ts';
export type { RefusalReason } from './refusal.ts';
