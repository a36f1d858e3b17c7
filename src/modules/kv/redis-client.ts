// ioredis in a module of its own: workers load it where a location needs it.
export { Redis } from 'ioredis';
