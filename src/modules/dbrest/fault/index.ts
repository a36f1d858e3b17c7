export { DbrestFault } from './dbrest-fault.ts';
export * from './request.ts';
export * from './schema.ts';
export * from './server.ts';
export * from './services.ts';
export * from './write.ts';
