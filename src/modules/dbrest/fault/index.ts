export * from './batch.ts';
export * from './conditions.ts';
export { TOO_COSTLY, tooCostly } from './cost.ts';
export { DbrestFault } from './fault.ts';
export * from './live.ts';
export * from './mcp.ts';
export * from './request.ts';
export * from './schema.ts';
export * from './server.ts';
