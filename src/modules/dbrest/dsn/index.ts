export { readDsn } from './read-dsn.ts';
export { DEFAULT_EMBEDDED_DIR, passReader } from './pass-reader.ts';
export type { ConnectionTarget, DbrestPass, DsnFault, Host, SslMode } from './target.ts';
export { targetName } from './target-name.ts';
