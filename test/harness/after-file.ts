import { afterAll, vi } from 'vitest';
import { closeRedisCluster } from './redis-cluster.ts';
import { stopRedis } from './redis.ts';

// Vitest runs this file for each test file; modules that test files share are evaluated once per process.
const [directory, environment, umask] = [process.cwd(), { ...process.env }, process.umask()];

/** An empty pid file reads as 0, and a signal to 0 or -1 ends the whole run, or all processes of the account. */
const { kill } = process;
process.kill = (pid, signal) => {
  if (pid === 0 || pid === -1) throw new Error(`a test sends ${signal ?? 'SIGTERM'} to process ${pid}`);
  return kill.call(process, pid, signal);
};

afterAll(async () => {
  await closeRedisCluster();
  await stopRedis();
});

// The next file in this process begins with the same surroundings as this one.
afterAll(() => {
  process.kill = kill;
  vi.unstubAllEnvs();
  process.chdir(directory);
  process.umask(umask);
  for (const name of Object.keys(process.env)) if (environment[name] === undefined) delete process.env[name];
  Object.assign(process.env, environment);
});
