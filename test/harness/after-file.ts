import { afterAll } from 'vitest';
import { stopRedis } from './redis.ts';

// Vitest runs this for each file, and evaluates what files share only once in a process.
afterAll(stopRedis);
