export { Pool } from './pool.ts';
export type { AcquireRules, PoolLevel, PoolOptions } from './pool.ts';
export { PoolRefusal } from './refusal.ts';
export type { RefusalReason } from './refusal.ts';
export { spoolBody, spooledBody } from './spool-body.ts';
export type { BodySource, SpooledBody, SpoolRules } from './spool-body.ts';
export { LRUCache } from 'lru-cache';
