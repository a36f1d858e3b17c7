export type { Asker } from './asker.ts';
export { compileOperations } from './operations.ts';
export { headerValues } from './request-settings.ts';
export { Stopwatch } from './stopwatch.ts';
