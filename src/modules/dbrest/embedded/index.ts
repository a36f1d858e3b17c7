export { startEmbeddedPostgres } from './server.ts';
export type { EmbeddedOptions, EmbeddedPostgres } from './server.ts';
