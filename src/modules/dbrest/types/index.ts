export type { ApiTypes } from './api-types.ts';
export { describeTypes, writeTypes } from './describe.ts';
export { onlySchemas, readApiTypes } from './reader.ts';
export { typescriptOf } from './typescript.ts';
