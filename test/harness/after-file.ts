import { afterAll } from 'vitest';
import { closeRedisCluster } from './redis-cluster.ts';
import { stopRedis } from './redis.ts';

// Vitest runs this file for each test file; modules that test files share are evaluated once per process.
afterAll(async () => {
  await closeRedisCluster();
  await stopRedis();
});
