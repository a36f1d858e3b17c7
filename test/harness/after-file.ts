import { afterAll } from 'vitest';
import { stopRedis } from './redis.ts';

// Vitest runs this file for each test file; modules that test files share are evaluated once per process.
afterAll(stopRedis);
