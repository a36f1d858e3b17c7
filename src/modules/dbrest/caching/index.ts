export { compileCaching, type Caching } from './cached-reads.ts';
export { DatabaseCaches } from './database-caches.ts';
export { RELATIVES_SQL } from './tags.ts';
