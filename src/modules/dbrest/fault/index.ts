export { DbrestFault, type FaultShape } from './fault.ts';
export * from './request.ts';
export * from './schema.ts';
export * from './server.ts';
