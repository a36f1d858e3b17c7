export * from './availability.ts';
export { DbrestFault } from './dbrest-fault.ts';
export type { FaultShape } from './dbrest-fault.ts';
export * from './faults.ts';
export * from './token-faults.ts';
export * from './relationship-faults.ts';
export { notYet } from './not-yet.ts';
export { serverFault } from './sqlstate.ts';
export type { ServerError } from './sqlstate.ts';
