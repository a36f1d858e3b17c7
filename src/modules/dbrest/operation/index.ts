export type { Asker } from './asker.ts';
export { compileOptions } from './options.ts';
export { apiFacts, compileOperations } from './operations.ts';
export { headerValues } from './request-settings.ts';
export { Stopwatch } from './stopwatch.ts';
export { upToDate } from './up-to-date.ts';
