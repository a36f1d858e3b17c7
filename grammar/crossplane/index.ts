export { buildConfig } from './build.ts';
export { parsePayload } from './parse.ts';
export type { ParseOptions } from './parse.ts';
export type { Payload, PayloadFile, Statement } from './payload.ts';
