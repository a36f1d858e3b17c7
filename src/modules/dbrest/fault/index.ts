export { DbrestFault, type FaultShape } from './dbrest-fault.ts';
export * from './request-faults.ts';
export * from './schema-faults.ts';
export * from './server-faults.ts';
export * from './token-faults.ts';
