import { afterAll, vi } from 'vitest';
import { closeRedisCluster } from './redis-cluster.ts';
import { stopRedis } from './redis.ts';

// Vitest runs this file for each test file; modules that test files share are evaluated once per process.
const [directory, environment, umask] = [process.cwd(), { ...process.env }, process.umask()];

afterAll(async () => {
  await closeRedisCluster();
  await stopRedis();
});

// The next file in this process finds what this one has found.
afterAll(() => {
  vi.unstubAllEnvs();
  process.chdir(directory);
  process.umask(umask);
  for (const name of Object.keys(process.env)) if (environment[name] === undefined) delete process.env[name];
  Object.assign(process.env, environment);
});
