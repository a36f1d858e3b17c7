export { MORE_COMMANDS, STORE_COMMANDS } from './redis-scripts.ts';
export { RedisStore } from './redis-store.ts';
